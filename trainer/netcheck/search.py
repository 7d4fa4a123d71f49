"""The network check's search for a bad node: which pairs to measure next, so that few rounds find
it however many nodes there are.

In the first round every node measures with one other. A node of a bad pair is suspect, and next
measures with a healthy one: a good figure clears it, a second bad one confirms it. Without suspects
further pairs are measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

from trainer.netcheck.pairing import outlier_pairs, rounds

Measured = Mapping[tuple[int, int], Mapping[str, Any]]


def most_rounds(count: int) -> int:
    """Enough for every pair of up to four nodes; beyond, it grows with the logarithm."""
    return ceil(log2(count)) + 1 if count > 1 else 0


def next_round(ranks: Sequence[int], measured: Measured) -> list[tuple[int, int]]:
    """Disjoint pairs that have not been measured yet; none when all have."""
    healthy, suspect = split_by_health(measured)
    free = [rank for rank in ranks if rank in healthy]
    chosen = []
    for rank in (rank for rank in ranks if rank in suspect):
        partner = next((other for other in free if _pair(rank, other) not in measured), None)
        if partner is not None:
            free.remove(partner)
            chosen.append(_pair(rank, partner))
    if chosen:
        return chosen
    fresh = ([pair for pair in pairs if pair not in measured] for pairs in rounds(ranks))
    return next((pairs for pairs in fresh if pairs), [])


def split_by_health(measured: Measured) -> tuple[set[int], set[int]]:
    """Ranks that had at least one pair as good as others, and those that had only bad ones."""
    bad = {*outlier_pairs(measured), *(pair for pair, each in measured.items() if "error" in each)}
    healthy = {rank for pair in measured if pair not in bad for rank in pair}
    return healthy, {rank for pair in bad for rank in pair} - healthy


def _pair(rank: int, other: int) -> tuple[int, int]:
    return min(rank, other), max(rank, other)
