"""The line of a run on the terminal."""

from __future__ import annotations

import re

import pytest

from playrunner.training.screen.screen import LiveLine


@pytest.mark.parametrize(("minutes", "left"), [(5.0, r"(4:5\d|5:00)"), (0.0, r"\d+:\d\d:\d\d")])
def test_a_run_that_is_given_minutes_is_not_said_to_last_longer(
    capsys: pytest.CaptureFixture[str], minutes: float, left: str
) -> None:
    line = LiveLine(10**15)
    line.minutes = minutes
    for step in (1, 2):
        line.metrics({"step": step, "loss": 1.0})
    assert re.search(rf"about {left} left$", capsys.readouterr().err.splitlines()[-1])
