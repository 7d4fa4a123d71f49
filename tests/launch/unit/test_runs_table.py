"""The table of runs: how long each still takes, within the terminal's width."""

from __future__ import annotations

import pytest

from playrunner.training.runs.remaining import seconds_left
from playrunner.training.runs.run import Run
from playrunner.training.screen.runs_table import table

NOW = 1000.0


def _run(steps: int = 100, state: str = "running", last: float = NOW) -> Run:
    metrics = [
        {"step": 10 * number, "loss": 3.0, "tokens_per_second": 12345.0, "time": last - 20 * before}
        for number, before in ((1, 30), (2, 1), (3, 0))  # stopped between the first two
    ]
    job = {"steps": steps, "created": NOW - 4000, "nodes": [{"host": "a"}, {"host": "b"}]}
    return Run("gpt2-micro-long-name", {**job, "hourly": 40.0}, {"a": {"state": state}}, metrics)


def test_what_is_left_follows_from_the_pace_of_the_last_steps() -> None:
    assert seconds_left(_run(), NOW) == pytest.approx(140.0)
    assert seconds_left(_run(state="finished"), NOW) is None
    assert seconds_left(_run(steps=0), NOW) is None, "only the script knows how many"
    assert seconds_left(_run(last=NOW - 3000), NOW) is None, "it takes no steps"


def test_the_table_fits_60_columns_and_keeps_what_is_left() -> None:
    wide, narrow = table([_run()], NOW), table([_run()], NOW, 60)
    assert "$44.44" in wide and "12,345" in wide
    assert max(map(len, narrow.splitlines())) <= 60
    assert "30/100" in narrow and "2:20" in narrow and "$" not in narrow
