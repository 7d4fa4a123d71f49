"""train.minutes: steps are chosen so that everything ends within them, by this machine's pace."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.support.trainer.launching import launch, steps_saved
from tests.support.trainer.launching import records as written_by
from trainer.config import Train
from trainer.distributed.process_group import ProcessGroup
from trainer.loop import time_budget
from trainer.loop.time_budget import TimeBudget, process_age
from trainer.profile import read_profile

MICRO = read_profile("gpt2-micro").train
END_SECONDS = 18.0  # half as much again as the 8 s and 4 s that were measured


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
    last. The end takes 8 s for a checkpoint and 4 s for an evaluation."""

    def save(wait: bool) -> None:
        assert wait
        clock.now += 8.0

    step, last = 0, MICRO.steps
    while step < last:
        last = budget.last_step(step) or last
        clock.now += paces[min(step, len(paces) - 1)]
        step += 1
        if budget.measures:
            budget.measure(save, lambda: 4.0)
    return step


def given(minutes: float, **more: object) -> Train:
    return replace(MICRO, minutes=minutes, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("pace", [0.01, 0.5, 3.0, 20.0])
def test_the_steps_that_fit_are_decided_from_the_first_ones_and_said_in_a_line(
    pace: float, clock: Clock, alone: ProcessGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = TimeBudget(given(5.0), alone, age=30.0)
    began, first = clock.now, 5 * pace
    taken = ran(budget, clock, first, pace)
    spent = 30.0 + clock.now - began + END_SECONDS
    assert 300 - pace - 0.1 <= spent <= 300, f"{taken} steps took {spent:.0f} s"
    (line,) = capsys.readouterr().err.splitlines()
    match = re.fullmatch(
        rf"time: (\d+) of the 400000 steps fit, at {pace:.2g} s each with 18 s for the last"
        r" checkpoint and the evaluation",
        line,
    )
    assert match and int(match[1]) == pytest.approx(taken, abs=1)


@pytest.mark.parametrize("later", [0.25, 4.0])
def test_a_machine_that_becomes_slow_or_quick_uses_its_time_and_no_more(
    later: float, clock: Clock, alone: ProcessGroup
) -> None:
    budget = TimeBudget(given(5.0), alone, age=0.0)
    began = clock.now
    ran(budget, clock, *[1.0] * 20, later)
    assert 300 - 2 * later <= clock.now - began + END_SECONDS <= 300


def test_without_minutes_there_is_no_end_by_time_and_nothing_to_measure(
    clock: Clock, alone: ProcessGroup
) -> None:
    budget = TimeBudget(given(0.0), alone)
    clock.now += 1e9
    assert budget.last_step(100) == 0 and not budget.measures


def test_the_minutes_begin_with_the_process() -> None:
    assert 0 < process_age() < 7200


@pytest.mark.processes
def test_a_run_says_how_many_steps_fit_counts_to_them_and_ends_within_its_time(
    tmp_path: Path,
) -> None:
    began = time.time()
    assert launch("gpt2-micro-smoke", tmp_path / "one", "train.steps=10").code == 0
    seconds = 2 * (time.time() - began) + 20  # a busy machine takes long to import
    settings = ("steps=1000000", "schedule.decay_steps=1000", f"minutes={seconds / 60}")
    began, output = time.time(), tmp_path / "run"
    ended = launch("gpt2-micro-smoke", output, *(f"train.{each}" for each in settings))
    assert ended.code == 0, ended.text
    assert re.search(r"^time: \d+ of the 1000000 steps fit, at ", ended.text, re.M), ended.text
    steps = [each for each in written_by(output) if "loss" in each]
    taken = steps[-1]["step"]
    assert "last_step" not in steps[0] and steps[-1]["last_step"] == taken
    assert f"step {taken}/{taken}  loss" in ended.text
    assert steps_saved(output)[-1] == taken and "eval_loss" in written_by(output)[-1]
    evaluated = (output / "metrics.jsonl").stat().st_mtime - began
    assert evaluated < 1.05 * seconds, "with checkpoint and evaluation, on a busy machine too"
    assert steps[-1]["time"] - began > 0.8 * seconds, "and the time is used"
