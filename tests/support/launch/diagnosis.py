"""Facts of a run as its nodes report them, to be diagnosed."""

from __future__ import annotations

from typing import Any

from playrunner.training.diagnosis.causes import Cause, Facts, causes
from trainer.node.failure import RANK, Failure

NOW = 1_000_000.0


def a_job(count: int = 2, **parts: Any) -> dict[str, Any]:
    nodes = [
        {
            "host": f"node{number + 1}",
            "root": "/shared",
            "python": "/opt/python",
            "first_rank": number,
            "slots": 1,
        }
        for number in range(count)
    ]
    return {
        "name": "micro",
        "nodes": nodes,
        "world_size": count,
        "created": NOW - 600,
        "steps": 1000,
        "profile": "gpt2-micro",
        **parts,
    }


def a_rank(number: int, **parts: Any) -> dict[str, Any]:
    return {
        "pid": 100 + number,
        "rank": number,
        "state": "S",
        "cores": 0.9,
        "threads": 9,
        "rss_mib": 500,
        "sockets": 6,
        **parts,
    }


def a_node(*processes: dict[str, Any], log: tuple[str, ...] = (), **parts: Any) -> dict[str, Any]:
    """A healthy node with these processes."""
    return {
        "processes": list(processes),
        "time": NOW,
        "uptime": 9000.0,
        "boot": "b1",
        "cores": 8,
        "load": 1.0,
        "log": list(log),
        "memory": {"total_mib": 32000, "available_mib": 20000},
        "spy": "",
        "strangers": [],
        "disk": {"path": "/shared", "free_mib": 50000, "free_files": 1000},
        "use": {"busy": 0.2, "stolen": 0.0, "swapped": 0.0},
        "kernel": {"lines": [], "unread": ""},
        "gate": {},
        **parts,
    }


def metrics(
    count: int = 40, *, last: float = NOW - 0.5, seconds: float = 0.5, waited: float = 0.01
) -> list[dict[str, Any]]:
    return [
        {
            "step": number + 1,
            "loss": 3.0,
            "step_seconds": seconds,
            "data_wait_seconds": waited,
            "time": last - seconds * (count - 1 - number),
        }
        for number in range(count)
    ]


def running(**parts: Any) -> Facts:
    given: dict[str, Any] = {
        "job": a_job(),
        "metrics": metrics(),
        "supervisors": {"node1": {"state": "running"}, "node2": {"state": "running"}},
        "nodes": {"node1": a_node(a_rank(0)), "node2": a_node(a_rank(1))},
        **parts,
    }
    return Facts("micro", "running", now=NOW, **given)


def failed(
    what: str = "rank 1 ended with code 1",
    code: int = 1,
    tail: tuple[str, ...] = (),
    kind: str = RANK,
    **parts: Any,
) -> Facts:
    """A run that node2 ended, with its last words."""
    cause = Failure("node2", kind, what, NOW, code, tail).plain()
    given: dict[str, Any] = {
        "job": a_job(),
        "metrics": metrics(),
        "nodes": {"node1": a_node(), "node2": a_node()},
        "supervisors": {
            "node1": {"state": "failed", "cause": cause},
            "node2": {"state": "failed", "cause": cause},
        },
        **parts,
    }
    return Facts("micro", "failed", now=NOW, **given)


def first(facts: Facts) -> Cause:
    found = causes(facts)
    assert found == sorted(found, key=lambda cause: -cause.score)
    return found[0]
