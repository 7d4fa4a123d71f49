"""What a run lost is counted from its metrics, and a node is blamed for what began on it alone."""

from __future__ import annotations

from typing import Any

from playrunner.training.diagnosis.blame import End, culprits
from playrunner.training.kube.runs.bad_nodes import ends_of
from playrunner.training.kube.runs.repeated_steps import Setback, setbacks, setbacks_text


def test_steps_that_were_done_again_are_counted_in_the_order_of_time() -> None:
    steps = [1, 2, 3, 4, 3, 4, 5, 1, 2]
    records = [{"step": step, "time": 100.0 + at} for at, step in enumerate(steps)]
    found = setbacks([*records[5:], *records[:5]])
    assert found == [Setback(4, 3), Setback(5, 1)]
    assert [one.lost for one in found] == [2, 5]
    assert (
        setbacks_text(found)
        == "set back 2 times: 7 steps were done again (from 4 back to 2, 5 back to 0)"
    )


def test_a_run_that_only_went_forward_lost_nothing() -> None:
    assert setbacks([{"step": step, "time": step} for step in range(1, 9)]) == []
    assert setbacks_text([]) == ""


def test_whoever_fails_right_after_another_node_is_not_blamed() -> None:
    first, follower = End("a", "p-0", 100.0), End("b", "p-1", 110.0)
    later = End("b", "p-1", 200.0)
    assert culprits([later, follower, first]) == [first, later]


def test_a_node_that_fails_twice_in_a_row_is_blamed_for_both() -> None:
    twice = [
        End("a", "p-0", 100.0, container="life-1"),
        End("a", "p-0", 100.0, container="life-2"),
    ]
    assert culprits(twice) == twice


def test_a_pod_that_was_told_to_go_has_not_failed() -> None:
    assert ends_of(_pod(137, "OOMKilled"))[0].text == "OOMKilled (exit code 137)"
    assert ends_of(_pod(143, "Error")) == []
    assert ends_of(_pod(137, "OOMKilled", deletionTimestamp="2026-01-01T00:00:00Z")) == []


def _pod(code: int, reason: str, **meta: str) -> dict[str, Any]:
    end = {"exitCode": code, "reason": reason, "finishedAt": "2026-01-01T00:00:00Z"}
    return {
        "metadata": {"name": "p-0", **meta},
        "spec": {"nodeName": "a"},
        "status": {"containerStatuses": [{"name": "pytorch", "lastState": {"terminated": end}}]},
    }
