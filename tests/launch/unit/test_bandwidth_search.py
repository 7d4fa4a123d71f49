"""The gate's search for a bad node, on networks of figures: who is named, and after how many
rounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import ceil, log2
from typing import Any

import pytest

from trainer.netcheck.findings import Expected
from trainer.netcheck.search import most_rounds, next_round, split_by_health
from trainer.netcheck.verdict import Verdict, judge

NOTHING = Expected(None, None)
Network = Callable[[int, int], dict[str, Any]]


def good(a: int, b: int) -> dict[str, Any]:
    """Figures differ a little from pair to pair."""
    return {"gbps": 10.0 + (a * 7 + b * 3) % 5, "latency_us": 60.0 + (a + b) % 9, "bytes": 2**20}


def slow_at(*ranks: int) -> Network:
    return lambda a, b: {**good(a, b), "gbps": 0.2} if {a, b} & set(ranks) else good(a, b)


def searched(
    count: int, network: Network, dead: tuple[tuple[int, int], ...] = ()
) -> tuple[Verdict, int]:
    """The verdict, and how many rounds it took; dead links are found by all at once, which is a
    round, too."""
    found: dict[tuple[int, int], dict[str, Any]] = {
        pair: {"error": "no answer within 5 s"} for pair in dead
    }
    done = 1 if dead else 0
    while done < most_rounds(count) and (pairs := next_round(list(range(count)), found)):
        assert len({rank for pair in pairs for rank in pair}) == 2 * len(pairs)
        assert not set(pairs) & set(found)
        found |= {pair: network(*pair) for pair in pairs}
        done += 1
    pairs_told = [
        {"a": f"node{a}", "b": f"node{b}", **each} for (a, b), each in sorted(found.items())
    ]
    return judge(
        {"nodes": [f"node{rank}" for rank in range(count)], "pairs": pairs_told, "backend": "gloo"},
        NOTHING,
    ), done


@pytest.mark.parametrize("count", [3, 4, 5, 7, 8, 13, 16, 64])
def test_a_slow_node_is_named_wherever_it_is_in_so_many_rounds_as_the_logarithm_and_one(
    count: int,
) -> None:
    for bad in range(count):
        verdict, rounds = searched(count, slow_at(bad))
        assert verdict.culprits == (f"node{bad}",), (bad, verdict)
        assert rounds <= ceil(log2(count)) + 1


@pytest.mark.parametrize("count", [5, 8, 16])
def test_a_dead_link_is_named_whichever_it_is(count: int) -> None:
    for a, b in combinations(range(count), 2):
        verdict, rounds = searched(count, good, ((a, b),))
        assert (verdict.culprits, verdict.links) == ((), ((f"node{a}", f"node{b}"),)), verdict
        assert rounds <= ceil(log2(count)) + 1


@pytest.mark.parametrize("count", [8, 16])
def test_a_node_that_only_the_first_one_reaches_is_named_and_not_its_links(count: int) -> None:
    verdict, _ = searched(count, good, tuple((other, count - 1) for other in range(1, count - 1)))
    assert verdict.culprits == (f"node{count - 1}",) and verdict.links == (), verdict
    assert f"does not reach {count - 2} of" in verdict.lines[0]


def test_two_slow_nodes_are_both_named() -> None:
    for pair in combinations(range(16), 2):
        verdict, _ = searched(16, slow_at(*pair))
        assert set(verdict.culprits) == {f"node{rank}" for rank in pair}, (pair, verdict)


@pytest.mark.parametrize("count", [2, 3, 4, 8, 64])
def test_healthy_nodes_are_let_through(count: int) -> None:
    verdict, rounds = searched(count, good)
    assert verdict.ok and rounds <= ceil(log2(count)) + 1


def test_up_to_four_nodes_have_every_pair_measured() -> None:
    for count in (2, 3, 4):
        found: dict[tuple[int, int], dict[str, Any]] = {}
        while pairs := next_round(list(range(count)), found):
            found |= {pair: good(*pair) for pair in pairs}
        assert sorted(found) == list(combinations(range(count), 2))


def test_who_had_one_good_pair_is_well_and_who_had_none_is_doubtful() -> None:
    bad = {**good(0, 1), "gbps": 0.1}
    well, doubtful = split_by_health(
        {
            (0, 1): bad,
            (2, 3): good(2, 3),
            (4, 5): good(4, 5),
            (1, 2): good(1, 2),
            (6, 7): {"error": "x"},
        }
    )
    assert (well, doubtful) == ({1, 2, 3, 4, 5}, {0, 6, 7})
