"""train.minutes: steps are chosen so that everything ends within them, by this machine's pace."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from trainer.config import Train
from trainer.distributed.process_group import ProcessGroup
from trainer.loop import time_budget
from trainer.loop.time_budget import TimeBudget, evaluation_steps, process_age
from trainer.profile import read_profile

MICRO = read_profile("gpt2-micro").train


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        fake = SimpleNamespace(**{**vars(time), "monotonic": lambda: self.now})
        monkeypatch.setattr(time_budget, "time", fake)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def alone() -> ProcessGroup:
    return ProcessGroup(0, 0, 1, 1, torch.device("cpu"), grouped=False)


def ran(budget: TimeBudget, clock: Clock, *paces: float) -> int:
    """How many steps are taken when the first takes the first pace, and so on; the rest the
    last."""
    step, last = 0, MICRO.steps
    while step < last:
        planned = budget.last_step(step)
        last = min(last, planned) if planned else last
        clock.now += paces[min(step, len(paces) - 1)]
        step += 1
    return step


def given(minutes: float, **more: object) -> Train:
    return replace(MICRO, minutes=minutes, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("pace", [0.01, 0.5, 3.0, 20.0])
def test_the_steps_that_fit_are_decided_from_the_first_ones_and_said_in_a_line(
    pace: float, clock: Clock, alone: ProcessGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = TimeBudget(given(5.0), alone, None, age=30.0)
    began, first = clock.now, 5 * pace
    taken = ran(budget, clock, first, pace)
    spent = 30.0 + clock.now - began
    assert 300 - 2 * max(pace, 1.0) <= spent <= 300, f"{taken} steps took {spent:.0f} s"
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"5 minutes: {pace:.2g} s per step and 0 s for the end, so {taken} of 400000 steps"
    )


def test_a_machine_that_becomes_slow_ends_in_time_all_the_same(
    clock: Clock, alone: ProcessGroup
) -> None:
    budget = TimeBudget(given(5.0), alone, None, age=0.0)
    began = clock.now
    ran(budget, clock, *[1.0] * 20, 4.0)
    assert 292 <= clock.now - began <= 300


def test_the_last_save_and_the_evaluation_are_within_the_time(
    clock: Clock, alone: ProcessGroup
) -> None:
    train = given(5.0, batch_size=8)
    budget = TimeBudget(train, alone, [0] * 64, age=0.0)
    assert evaluation_steps(train, 1, [0] * 64) == 4.0, "64 samples, forward only, in steps of 8"

    def save(wait: bool) -> None:
        assert wait
        clock.now += 12.0

    began = clock.now
    budget.timed(save)
    ran(budget, clock, 2.0)
    assert 300 - 20 - 4 <= clock.now - began <= 300 - 20


def test_without_minutes_there_is_no_end_by_time(clock: Clock, alone: ProcessGroup) -> None:
    budget = TimeBudget(given(0.0), alone, None)
    clock.now += 1e9
    assert budget.last_step(100) == 0


def test_the_minutes_begin_with_the_process() -> None:
    assert 0 < process_age() < 7200
