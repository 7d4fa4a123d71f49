"""The network check's pairs: which ranks measure in which round, which pairs to measure again, and
how figures are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

# A pair this much worse than the median is measured again before it counts
_OUTLIER_FACTOR = 3.0


def rounds(ranks: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """Every pair once, in rounds of disjoint pairs: n-1 rounds for an even number, n for an odd
    one. Of many nodes, only the first rounds are ever asked for."""
    circle: list[int | None] = list(ranks) + ([None] if len(ranks) % 2 else [])
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        facing = zip(circle[:half], reversed(circle[half:]), strict=True)
        pairs = [(min(a, b), max(a, b)) for a, b in facing if a is not None and b is not None]
        if pairs:
            yield pairs
        circle = [circle[0], circle[-1], *circle[1:-1]]  # the first stays, the others rotate


def repeat_rounds(
    measured: Mapping[tuple[int, int], Mapping[str, Any]],
) -> list[list[tuple[int, int]]]:
    """Rounds that repeat outliers: on busy machines one bad figure is an accident, two are not."""
    return _disjoint(outlier_pairs(measured))


def outlier_pairs(measured: Mapping[tuple[int, int], Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Pairs whose figures are much worse than the median."""
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
            each["gbps"] * _OUTLIER_FACTOR < usual_gbps
            or each["latency_us"] > usual_latency * _OUTLIER_FACTOR
        )
    ]


def better(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The better figures of two measurements of a pair: noise only makes a link look worse."""
    if "error" in first or "error" in second:
        return dict(second if "error" in first else first)
    fastest = max(first, second, key=lambda figures: figures["gbps"])
    return {
        "latency_us": min(first["latency_us"], second["latency_us"]),
        "gbps": fastest["gbps"],
        "bytes": fastest["bytes"],
    }


def silent(measured: Mapping[tuple[int, int], Mapping[str, Any]]) -> set[int]:
    """Ranks that failed with two partners and succeeded with none: trying the rest would cost a
    timeout each."""
    answered = {rank for pair, each in measured.items() if "error" not in each for rank in pair}
    failed = Counter(
        rank
        for pair, each in measured.items()
        if "error" in each and each.get("tried", True)
        for rank in pair
    )
    return {rank for rank, times in failed.items() if rank not in answered and times >= 2}


def bus_gbps(size: int, seconds: float, world_size: int) -> float:
    """Gigabits per second on each link: an all-reduce moves 2(n-1)/n of the data over every one."""
    return size * 8 * 2 * (world_size - 1) / world_size / seconds / 1e9


def _disjoint(pairs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    planned: list[list[tuple[int, int]]] = []
    taken: list[set[int]] = []  # the ranks of each round
    for pair in pairs:
        number = next((n for n, ranks in enumerate(taken) if ranks.isdisjoint(pair)), len(taken))
        if number == len(taken):
            planned.append([])
            taken.append(set())
        planned[number].append(pair)
        taken[number].update(pair)
    return planned
