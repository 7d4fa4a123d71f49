"""Results come as hosts are done, and are printed as the playbook has them."""

from __future__ import annotations

import pytest

from playrunner.output import held_back
from playrunner.output.held_back import EARLY_SECONDS, HOLD_SECONDS, HeldBack
from playrunner.output.warned import Warned
from playrunner.results import NOWHERE, Result


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(held_back, "time", clock)
    return clock


@pytest.fixture
def held(clock: Clock) -> HeldBack:
    held = HeldBack()
    held.play_starts(["a", "b"])
    return held


def result(step: int, host: str = "a") -> Result:
    return Result(host, f"step {step}", "host.command", "ok", {}, position=(step,))


def warning(step: int, of: Result | None = None) -> Warned:
    return Warned(f"warning {step}", "word", NOWHERE, "a", 0, (step,), of)


def test_a_warning_of_the_next_step_waits_for_the_results_before_it(
    held: HeldBack, clock: Clock
) -> None:
    held.add_warning(warning(2))  # the host has sent both steps, and the first is slow
    clock.now += HOLD_SECONDS * 2
    assert held.due() == []
    first, second = result(1), result(2)
    held.add(first)
    clock.now += HOLD_SECONDS * 2
    assert held.due() == [first]
    held.add(second)
    assert held.due() == []
    clock.now += HOLD_SECONDS * 2
    assert held.due() == [warning(2), second]


def test_a_warning_of_a_long_step_does_not_wait_for_its_end(held: HeldBack, clock: Clock) -> None:
    held.add_warning(warning(1))
    clock.now += EARLY_SECONDS + 1
    assert held.due() == [warning(1)]


def test_results_of_hosts_that_come_together_are_in_the_order_of_steps_and_hosts(
    held: HeldBack, clock: Clock
) -> None:
    late, early, other = result(2), result(1), result(1, "b")
    held.add(late)
    held.add(other)
    held.add_warning(warning(1, early))
    held.add(early)
    assert held.due() == []
    clock.now += HOLD_SECONDS * 2
    assert held.due() == [warning(1, early), early, other, late]


def test_at_the_end_nothing_is_held_back(held: HeldBack) -> None:
    first = result(1)
    held.add_warning(warning(2))
    held.add(first)
    assert held.all() == [first, warning(2)]
    assert held.all() == []
