"""The gate's search for a bad node: which pairs to measure next, so that few rounds name it however
many nodes there are.

In a first round every node speaks to one other. Whoever is in a pair that stands out is doubtful,
and next speaks to somebody who is known to be well: a good figure clears it, a second bad one names
it. Without anybody in doubt further pairs are measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

from trainer.netcheck.pairing import odd_pairs, rounds

Found = Mapping[tuple[int, int], Mapping[str, Any]]


def most_rounds(count: int) -> int:
    """Enough for every pair of up to four nodes; beyond, it grows with the logarithm."""
    return ceil(log2(count)) + 1 if count > 1 else 0


def next_round(ranks: Sequence[int], found: Found) -> list[tuple[int, int]]:
    """Disjoint pairs that have not been measured yet; none when all have."""
    well, doubtful = told_apart(found)
    free = [rank for rank in ranks if rank in well]
    chosen = []
    for rank in (each for each in ranks if each in doubtful):
        partner = next((each for each in free if _pair(rank, each) not in found), None)
        if partner is not None:
            free.remove(partner)
            chosen.append(_pair(rank, partner))
    if chosen:
        return chosen
    fresh = ([pair for pair in pairs if pair not in found] for pairs in rounds(ranks))
    return next((pairs for pairs in fresh if pairs), [])


def told_apart(found: Found) -> tuple[set[int], set[int]]:
    """Ranks that had at least one pair as good as others, and those that had only bad ones."""
    bad = {*odd_pairs(found), *(pair for pair, each in found.items() if "error" in each)}
    well = {rank for pair in found if pair not in bad for rank in pair}
    return well, {rank for pair in bad for rank in pair} - well


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)
