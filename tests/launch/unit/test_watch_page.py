"""The live page: what matters stays on it, however many runs there are."""

from __future__ import annotations

from playrunner.training.runs.run import Run
from playrunner.training.screen.watch_page import Snapshot, page


def test_a_page_that_is_too_short_shows_what_goes_on_and_counts_the_rest() -> None:
    states = {number: "running" if number == 40 else "finished" for number in range(50)}
    runs = [
        Run(f"run{number}", {}, {"node1": {"state": state}}) for number, state in states.items()
    ]
    drawn = page(Snapshot(runs, {}, 1.0), 100, 40)
    assert len(drawn.splitlines()) < 38
    assert "run40" in drawn and "run0 " in drawn
    assert "more: invoke train.status" in drawn
    assert "run49" in page(Snapshot(runs, {}, 1.0), 100), "without a height, everything is shown"
