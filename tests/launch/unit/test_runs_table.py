"""The table of runs: how long each still takes, within the terminal's width."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from playrunner.training.modules.train.status import last_metrics
from playrunner.training.runs.remaining import seconds_left
from playrunner.training.runs.run import Run
from playrunner.training.screen.runs_table import table
from playrunner.training.screen.screen import described

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


def test_the_newest_evaluation_is_shown_where_a_run_has_one(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text(
        '{"step": 1, "loss": 3.0}\n{"step": 1, "eval_loss": 3.25}\n{"step": 2, "loss": 2.5}\n'
    )
    run = replace(_run(), metrics=last_metrics(str(file), 3))
    heading, row = table([run], NOW).splitlines()
    assert row.split()[heading.split().index("eval")] == "3.2500"
    assert "evaluation 3.2500" in described(run.metrics[-1], 100)
    assert "eval" not in table([_run()], NOW)
