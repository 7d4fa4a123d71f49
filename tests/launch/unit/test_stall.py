"""When a run counts as stalled."""

from __future__ import annotations

from playrunner.training.runs.run import Run
from playrunner.training.runs.stall import stalled_for
from playrunner.training.screen.runs_table import table


def _metrics(*times: float) -> list[dict[str, float]]:
    return [
        {"step": number, "loss": 1.0, "time": when, "tokens_per_second": 77.0}
        for number, when in enumerate(times, 1)
    ]


def test_silence_is_a_stall_only_beside_the_usual_pace() -> None:
    assert stalled_for(_metrics(100, 101), 120) == 0
    assert stalled_for(_metrics(100, 101), 132) == 31
    assert stalled_for(_metrics(100, 140), 200) == 0, "it takes 40 s from step to step"
    assert stalled_for(_metrics(100), 1000) == 0, "nothing is known of its pace"


def test_a_stalled_run_shows_since_when_and_no_stale_rate() -> None:
    supervisors = {"node1": {"state": "running"}}
    job = {"nodes": [{"host": "node1"}], "steps": 0, "created": 90.0}
    runs = [Run("hung", job, supervisors, _metrics(100, 101))]
    assert "running (no step for 0:59)" in table(runs, 160) and "77" not in table(runs, 160)
    assert "2/?" in table(runs, 102) and "77" in table(runs, 102)
