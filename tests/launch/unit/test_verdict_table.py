"""The table that shows a network check."""

from __future__ import annotations

from typing import Any

from playrunner.training.netcheck.verdict_table import table
from tests.support.launch.gate_results import DEAD, a_result, between


def test_the_table_of_eight_nodes_fits_a_hundred_columns() -> None:
    result = a_result(8, change=between("node1", "node3", gbps=0.0123, latency_us=123456.0))
    long = {
        f"node{number}": f"ip-10-0-12-{number}.eu-west-1.compute.internal" for number in range(1, 9)
    }
    result["nodes"] = list(long.values())
    for each in result["pairs"]:
        each["a"], each["b"] = long[each["a"]], long[each["b"]]
    assert max(map(len, table(result).splitlines())) <= 100


def test_the_table_shows_sums_and_each_pair_both_ways() -> None:
    text = table(a_result(3, change=between("node1", "node3", gbps=0.25, latency_us=1500.0)))
    assert (
        text
        == """\
3 nodes, 3 ranks, gloo, 4.2 s

all-reduce        time   bus bandwidth   wrong
4 KiB           400 us     0.10 Gbit/s       0
1 MiB           1.6 ms     8.00 Gbit/s       0

pairs: Gbit/s above the diagonal, latency below
          node1    node2    node3
node1         \\     10.0     0.25
node2      60us        \\     10.0
node3     1.5ms     60us        \\
"""
    )


def test_the_table_of_many_nodes_lists_the_worst_pairs() -> None:
    def change(a: str, b: str) -> dict[str, Any] | None:
        return (
            DEAD if {a, b} == {"node3", "node7"} else {"gbps": 0.5} if "node9" in (a, b) else None
        )

    lines = table(a_result(12, change=change, rounds={"planned": 11, "done": 4})).splitlines()
    assert "4 of 11 rounds" in lines[0]
    worst = lines[lines.index(next(line for line in lines if line.startswith("66 pairs"))) + 1 :]
    assert len(worst) == 10
    assert "node3" in worst[0] and "no answer" in worst[0]
    assert all("node9" in line for line in worst[1:])


def test_the_table_of_a_dead_gate_says_who_is_missing() -> None:
    text = table(
        a_result(
            2, pairs=[], all_reduce=[], missing=[{"rank": 1, "node": "node2", "when": "joining"}]
        )
    )
    assert "missing: node2 (rank 1, joining)" in text
