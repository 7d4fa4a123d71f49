"""Results of a network check, with figures of choice."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any


def a_result(
    count: int = 4,
    *,
    gbps: float = 10.0,
    latency_us: float = 60.0,
    backend: str = "gloo",
    change: Callable[[str, str], dict[str, Any] | None] = lambda a, b: None,
    **parts: Any,
) -> dict[str, Any]:
    """A healthy result of so many nodes, but for the pairs that `change` has something to say
    on."""
    nodes = [f"node{number}" for number in range(1, count + 1)]
    pairs = [
        {"a": a, "b": b, "latency_us": latency_us, "gbps": gbps, "bytes": 2**20}
        | (change(a, b) or {})
        for a, b in combinations(nodes, 2)
    ]
    return {
        "world_size": count,
        "backend": backend,
        "nodes": nodes,
        "pairs": pairs,
        "missing": [],
        "without_device": [],
        "all_reduce": [
            {"bytes": 4096, "seconds": 0.0004, "bus_gbps": 0.1, "wrong": 0},
            {"bytes": 2**20, "seconds": 0.0016, "bus_gbps": 8.0, "wrong": 0},
        ],
        "rounds": {"planned": count - 1, "done": count - 1},
        "problem": None,
        "seconds": 4.2,
        **parts,
    }


def between(first: str, second: str, **figures: Any) -> Callable[[str, str], dict[str, Any] | None]:
    return lambda a, b: figures if {a, b} == {first, second} else None


DEAD = {"latency_us": None, "gbps": None, "error": "no answer within 5 s"}
