"""What we promise about speed, and whether these numbers keep it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.runner.rounds import Score

AT_LEAST = {  # hosts: {tool: how many times faster than it we are}
    1: {"ansible": 15.0, "pyinfra": 4.0},
    10: {"ansible": 40.0, "mitogen": 10.0, "pyinfra": 4.0},
    50: {"ansible": 40.0, "mitogen": 10.0, "pyinfra": 4.0},
}
AT_MOST_OF_FLOOR = {10: 1.6, 50: 1.6}
LIST_AT_MOST = 1.1  # `invoke --list` against the same with an empty tasks.py


@dataclass(frozen=True)
class GoalResult:
    """One promise beside what was measured."""

    promise: str
    measured: str
    kept: bool


def goal_results(scores: list[Score]) -> Iterator[GoalResult]:
    """Each promise for which both sides were measured."""
    by_place = {(score.hosts, score.tool): score for score in scores}
    for (hosts, name), ours in by_place.items():
        if name != "ours":
            continue
        for mode in ("first", "second"):
            own = ours.wall(mode)
            if own is None:
                yield GoalResult(
                    f"{hosts} hosts, {mode} run", ours.wrong or "not measured", kept=False
                )
                continue
            for other, factor in AT_LEAST.get(hosts, {}).items():
                theirs = by_place[hosts, other].wall(mode) if (hosts, other) in by_place else None
                if theirs is not None:
                    promise = f"{hosts} hosts, {mode} run: at least {factor:g}x faster than {other}"
                    yield GoalResult(promise, f"{theirs / own:.1f}x", theirs / own >= factor)
            floor = by_place[hosts, "floor"].wall(mode) if (hosts, "floor") in by_place else None
            if floor is not None and hosts in AT_MOST_OF_FLOOR:
                most = AT_MOST_OF_FLOOR[hosts]
                promise = f"{hosts} hosts, {mode} run: at most {most:g}x the floor"
                yield GoalResult(promise, f"{own / floor:.2f}x", own / floor <= most)


def list_goal_result(ratio: float) -> GoalResult:
    promise = f"`invoke --list`: at most {LIST_AT_MOST:g}x that of an empty tasks.py"
    return GoalResult(promise, f"{ratio:.2f}x", ratio <= LIST_AT_MOST)
