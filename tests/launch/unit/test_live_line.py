"""The line of a run on the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from playrunner.training.runs.notices import Notices
from playrunner.training.runs.run import Run
from playrunner.training.screen.runs_table import as_json, table
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


def test_a_run_counts_to_the_steps_that_fit_into_its_time_once_it_knows_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = LiveLine(400_000)
    before, after = {"step": 6, "loss": 1.0}, {"step": 7, "loss": 1.0, "last_step": 43}
    for record in (before, after):
        line.metrics(record)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("step 6/400000  ") and second.startswith("step 7/43  ")
    run = Run("x", {"nodes": [{"host": "a"}], "steps": 400_000}, {"a": {"state": "running"}})
    assert as_json(run)["steps"] == 400_000
    decided = replace(run, metrics=[before, after])
    assert as_json(decided)["steps"] == 43 and "7/43" in table([decided], 0.0)


def test_the_launcher_repeats_how_many_steps_fit() -> None:
    said = "time: 43 of the 400000 steps fit, at 5.2 s each with 21 s for the last checkpoint"
    assert Notices().of("node1", f"[0] step 6\n[0] {said}\n") == [said]
