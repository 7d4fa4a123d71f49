"""The gate's arithmetic: who speaks to whom in which round, what deserves a second look, and how a
figure is worked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

# A pair this much worse than the median is measured again before anybody is blamed
_ODD_FACTOR = 3.0


def rounds(ranks: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Every pair once, in rounds of disjoint pairs: n-1 rounds for an even number, n for an odd
    one."""
    circle: list[int | None] = list(ranks) + ([None] if len(ranks) % 2 else [])
    planned = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        planned.append(
            [(min(a, b), max(a, b)) for a, b in facing if a is not None and b is not None]
        )
        circle = [
            circle[0],
            circle[-1],
            *circle[1:-1],
        ]  # the first stays, the others move on one seat
    return [each for each in planned if each]


def second_look(
    measured: Mapping[tuple[int, int], Mapping[str, Any]],
) -> list[list[tuple[int, int]]]:
    """Rounds that repeat what stood out: on busy machines one bad figure is an accident, two are a
    finding."""
    return _disjoint(odd_pairs(measured))


def odd_pairs(measured: Mapping[tuple[int, int], Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Pairs whose figures stand out among the others'."""
    good = [each for each in measured.values() if "error" not in each]
    if len(good) < 2:
        return []
    usual_gbps, usual_latency = (
        median(each["gbps"] for each in good),
        median(each["latency_us"] for each in good),
    )
    return [
        pair
        for pair, each in measured.items()
        if "error" not in each
        and (
            each["gbps"] * _ODD_FACTOR < usual_gbps
            or each["latency_us"] > usual_latency * _ODD_FACTOR
        )
    ]


def better(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The better figures of two looks at one pair: noise only ever makes a link look worse."""
    if "error" in one or "error" in other:
        return dict(other if "error" in one else one)
    return {
        "latency_us": min(one["latency_us"], other["latency_us"]),
        **{
            name: max(one, other, key=lambda each: each["gbps"])[name] for name in ("gbps", "bytes")
        },
    }


def silent(found: Mapping[tuple[int, int], Mapping[str, Any]]) -> set[int]:
    """Ranks that failed with two partners and succeeded with none: trying the rest would cost a
    timeout each."""
    spoke = {rank for pair, each in found.items() if "error" not in each for rank in pair}
    failed = [
        rank
        for pair, each in found.items()
        if "error" in each and each.get("tried", True)
        for rank in pair
    ]
    return {rank for rank in failed if rank not in spoke and failed.count(rank) >= 2}


def bus_gbps(size: int, seconds: float, world_size: int) -> float:
    """Gigabits per second that each link carries: an all-reduce moves 2(n-1)/n of the data over
    every one of them."""
    return size * 8 * 2 * (world_size - 1) / world_size / seconds / 1e9


def _disjoint(pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    planned: list[list[tuple[int, int]]] = []
    for pair in pairs:
        free = (each for each in planned if not any(set(pair) & set(other) for other in each))
        chosen = next(free, None)
        if chosen is None:
            planned.append([pair])
        else:
            chosen.append(pair)
    return planned
