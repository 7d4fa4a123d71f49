"""What a gate's result is taken to mean."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.launch.gate_results import DEAD, a_result, between
from trainer.netcheck.findings import Expected
from trainer.netcheck.verdict import judge

NOTHING = Expected(None, None)


def at(*names: str, **figures: Any) -> Callable[[str, str], dict[str, Any] | None]:
    """Those figures for every pair that has one of the names in it."""
    return lambda a, b: figures if {a, b} & set(names) else None


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("expected", [NOTHING, Expected(10.0, 60.0), Expected(20.0, None)])
def test_healthy_nodes_pass(count: int, expected: Expected) -> None:
    verdict = judge(a_result(count), expected)
    assert verdict.ok, verdict.lines
    assert verdict.suspects == ()
    assert f"{count} node" in verdict.lines[0]


@pytest.mark.parametrize("count", [3, 4, 8])
def test_a_slow_node_is_named_and_its_partners_are_not(count: int) -> None:
    verdict = judge(a_result(count, change=at("node2", gbps=0.5)), NOTHING)
    assert not verdict.ok
    assert verdict.suspects == ("node2",)
    assert verdict.lines == (
        (
            f"node2 is slow to {count - 1} of {count - 1} nodes: 0.50 Gbit/s measured, the others"
            " have 10.0 Gbit/s; latency 60 us, the others have 60 us"
        ),
    )


def test_links_of_one_machine_are_not_compared_and_a_dead_one_is_still_named() -> None:
    """A rehearsal's sixteen nodes share two cores, and some wait long for their turn."""
    slow = {**a_result(16, change=between("node8", "node15", gbps=0.04)), "one_machine": True}
    verdict = judge(slow, NOTHING)
    assert verdict.ok, verdict.lines
    assert "links are not compared" in verdict.lines[0]
    assert not judge(slow, Expected(10.0, None)).ok, "what the inventory asks for still holds"
    dead = {**a_result(4, change=between("node1", "node2", **DEAD)), "one_machine": True}
    assert "node1 - node2 is dead" in judge(dead, NOTHING).lines[0]


def test_a_late_node_is_named_with_both_latencies() -> None:
    verdict = judge(a_result(4, change=at("node4", latency_us=20000.0)), NOTHING)
    assert verdict.suspects == ("node4",)
    assert "latency 20.0 ms, the others have 60 us" in verdict.lines[0]


def test_one_good_figure_does_not_hide_a_slow_node() -> None:
    def change(a: str, b: str) -> dict[str, Any] | None:
        return {"gbps": 0.5} if "node3" in (a, b) and "node8" not in (a, b) else None

    verdict = judge(a_result(8, change=change), NOTHING)
    assert verdict.suspects == ("node3",)
    assert "node3 is slow to 6 of 7 nodes" in verdict.lines[0]


def test_two_slow_nodes_are_named_the_slower_first() -> None:
    def change(a: str, b: str) -> dict[str, Any] | None:
        return {"gbps": 0.2} if "node5" in (a, b) else {"gbps": 0.5} if "node2" in (a, b) else None

    assert judge(a_result(8, change=change), NOTHING).suspects == ("node5", "node2")


def test_two_slow_nodes_of_four_are_named_by_what_was_expected() -> None:
    verdict = judge(a_result(4, change=at("node1", "node2", gbps=1.0)), Expected(10.0, None))
    assert set(verdict.suspects) == {"node1", "node2"}
    assert "1.00 Gbit/s measured, expected 10.0 Gbit/s" in verdict.lines[0]


def test_a_single_slow_pair_names_the_link() -> None:
    verdict = judge(a_result(4, change=between("node2", "node4", gbps=0.3)), NOTHING)
    assert verdict.suspects == ("node2", "node4")
    assert len(verdict.lines) == 1
    assert verdict.lines[0].startswith("the link node2 - node4 is slow: 0.30 Gbit/s measured")


def test_a_slow_link_without_a_second_witness_must_be_slow_beyond_doubt() -> None:
    assert judge(
        a_result(4, change=between("node2", "node4", gbps=0.8)), NOTHING
    ).ok  # 9.6 ms lost per MiB
    assert not judge(a_result(4, change=at("node2", gbps=0.8)), NOTHING).ok
    assert not judge(
        a_result(4, change=between("node2", "node4", gbps=0.8)), Expected(10.0, None)
    ).ok


def test_two_nodes_have_only_a_link_and_only_an_expectation_can_call_it_slow() -> None:
    result = a_result(2, gbps=0.1)
    assert judge(result, NOTHING).ok
    verdict = judge(result, Expected(10.0, None))
    assert verdict.lines == (
        "the link node1 - node2 is slow: 0.10 Gbit/s measured, expected 10.0 Gbit/s",
    )


def test_a_network_that_is_slow_everywhere_blames_no_single_node() -> None:
    verdict = judge(a_result(4, gbps=1.0), Expected(10.0, 100.0))
    assert verdict.lines == (
        (
            "every link is slow: 1.00 Gbit/s measured, expected 10.0 Gbit/s; latency 60 us,"
            " expected 100 us"
        ),
    )
    assert judge(a_result(4, gbps=1.0), NOTHING).ok


def test_the_factor_says_how_far_from_the_expectation_is_still_good() -> None:
    result = a_result(3, gbps=5.0)
    assert judge(result, Expected(10.0, None)).ok
    assert not judge(result, Expected(10.0, None, slow_factor=1.5)).ok


def test_a_link_much_slower_than_others_but_within_a_busy_machines_noise_is_no_finding() -> None:
    late = at("node3", latency_us=4900.0)  # 80 times the others', yet less than two time slices
    assert judge(a_result(8, change=late), NOTHING).ok
    assert judge(a_result(8, change=late, backend="nccl"), NOTHING).suspects == ("node3",)


@pytest.mark.parametrize("seed", range(200))
def test_noise_of_a_busy_two_core_machine_raises_no_alarm(seed: int) -> None:
    # What eight processes on two cores give: 1-8 Gbit/s and, now and then, a message that waits for
    # a time slice or two.
    chance = random.Random(seed)

    def change(a: str, b: str) -> dict[str, Any]:
        waited = chance.choice([60, 90, 150, 300, 1500, 3000])
        return {"gbps": chance.uniform(1.5, 8.0), "latency_us": waited * chance.uniform(0.7, 1.0)}

    assert judge(a_result(chance.choice([3, 4, 8]), change=change), NOTHING).ok


def test_a_node_that_never_came_is_named() -> None:
    result = a_result(
        3, pairs=[], all_reduce=[], missing=[{"rank": 2, "node": "node3", "when": "joining"}]
    )
    verdict = judge(result, NOTHING)
    assert not verdict.ok
    assert verdict.suspects == ("node3",)
    assert verdict.lines == (
        "node3 (rank 2) never joined; check that it is up and can reach the master's port",
    )


def test_a_node_that_died_on_the_way_is_named_once_and_its_partners_never() -> None:
    failed = {
        "bytes": 4096,
        "seconds": None,
        "bus_gbps": None,
        "wrong": None,
        "error": "the connection was closed",
    }
    result = a_result(
        4,
        change=at("node2", **DEAD),
        all_reduce=[failed],
        missing=[{"rank": 1, "node": "node2", "when": "all-reduce"}],
    )
    verdict = judge(result, NOTHING)
    assert verdict.suspects == ("node2",)
    assert verdict.lines == (
        "node2 (rank 1) stopped answering during the network check (all-reduce)",
    )


def test_a_node_that_answers_nobody_is_told_from_a_dead_link() -> None:
    walled = judge(a_result(4, change=at("node3", **DEAD)), NOTHING)
    assert walled.suspects == ("node3",)
    assert walled.lines == (
        (
            "node3 does not answer any node (tried: node1, node2, node4), which answer others: no"
            " answer within 5 s"
        ),
    )
    cut = judge(a_result(4, change=between("node1", "node3", **DEAD)), NOTHING)
    assert cut.suspects == ("node1", "node3")
    assert cut.lines == ("the link node1 - node3 is dead: no answer within 5 s",)


def test_a_node_that_was_only_tried_with_dead_ones_is_not_blamed() -> None:
    def change(a: str, b: str) -> dict[str, Any] | None:
        if {a, b} in (
            {"node1", "node4"},
            {"node2", "node4"},
            {"node1", "node3"},
            {"node2", "node5"},
        ):
            return DEAD
        return DEAD | {"tried": False} if {a, b} & {"node1", "node2", "node4"} else None

    assert judge(a_result(5, change=change), NOTHING).suspects == ("node1", "node2")


def test_when_no_two_nodes_can_speak_the_line_says_where_to_look() -> None:
    verdict = judge(a_result(3, change=lambda a, b: DEAD), NOTHING)
    assert len(verdict.lines) == 1
    assert "GLOO_SOCKET_IFNAME" in verdict.lines[0]
    assert verdict.suspects == ()


def test_a_slow_node_is_found_beside_a_dead_one() -> None:
    def change(a: str, b: str) -> dict[str, Any] | None:
        return DEAD if "node1" in (a, b) else {"gbps": 0.4} if "node2" in (a, b) else None

    assert judge(a_result(6, change=change), NOTHING).suspects == ("node1", "node2")


def test_wrong_sums_fail_the_gate() -> None:
    sums = [{"bytes": 2**20, "seconds": 0.01, "bus_gbps": 1.0, "wrong": 7}]
    assert judge(a_result(2, all_reduce=sums), NOTHING).lines == (
        "all-reduce of 1 MiB: 7 wrong values",
    )


def test_a_failed_sum_with_good_pairs_is_told() -> None:
    sums = [
        {
            "bytes": 4096,
            "seconds": None,
            "bus_gbps": None,
            "wrong": None,
            "error": "no answer within 5 s",
        }
    ]
    assert judge(a_result(2, all_reduce=sums), NOTHING).lines == (
        "all-reduce of 4 KiB failed, though every pair answers: no answer within 5 s",
    )


def test_a_node_without_a_gpu_among_nodes_that_have_one_is_named() -> None:
    assert judge(a_result(3, without_device=["node2"]), NOTHING).suspects == ("node2",)


def test_ranks_of_one_node_are_judged_by_their_sum() -> None:
    result = a_result(1, world_size=8)
    assert judge(result, Expected(20.0, None)).ok
    assert judge(result, Expected(100.0, None)).lines == (
        "all-reduce of 1 MiB: 8.00 Gbit/s measured, expected 100.0 Gbit/s",
    )


def test_a_rank_that_found_no_master_says_so_once() -> None:
    problem = "node2 (rank 1) cannot reach the master node1 at 10.0.0.1:29500 within 15 s"
    verdict = judge(
        a_result(1, problem=problem, missing=[{"rank": 0, "node": "node1", "when": "joining"}]),
        NOTHING,
    )
    assert verdict.lines == (problem,)
    assert verdict.suspects == ("node1",)
