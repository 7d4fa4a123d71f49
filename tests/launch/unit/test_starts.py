"""Restarts that several nodes or pods of a launch decide on: each failure counts once, whoever
sees it, and what one has found holds for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.launch.unit.test_restarts import checkpoint
from trainer.errors import NotRestarted
from trainer.node.restart import Limits
from trainer.node.starts import Starts

NODES = 4


def launch(output: Path, most: int = 3, per_hour: int = 6, elastic: bool = False) -> Starts:
    """As one node of it sees it."""
    return Starts(output / "restarts" / "launch-1", Limits(most, per_hour), output, elastic)


def started(*nodes: Starts, size: int = 2) -> None:
    number = nodes[0].begin(size)
    for node in nodes:
        node.join(number)


def test_a_failure_counts_once_however_many_nodes_see_it(tmp_path: Path) -> None:
    nodes = [launch(tmp_path) for _ in range(NODES)]
    for number in (1, 2):
        started(*nodes)
        with ThreadPoolExecutor(NODES) as all_at_once:
            found = list(all_at_once.map(lambda node: node.failed("rank 1 ended"), nodes))
        assert {(each.number, each.counted) for each in found} == {(number, True)}
        checkpoint(tmp_path, 10 * number)


def test_what_the_first_saw_is_what_the_others_say(tmp_path: Path) -> None:
    first, second = launch(tmp_path), launch(tmp_path)
    started(first, second)
    first.failed("rank 0 ended with code 1")
    assert second.failed("rank 1 lost its connection").line(3) == (
        "restart: 1 of 3 in 2 s after rank 0 ended with code 1"
    )


def test_used_up_restarts_are_so_for_a_pod_that_comes_later(tmp_path: Path) -> None:
    for step in (10, 20):
        pod = launch(tmp_path, most=1)
        started(pod)
        checkpoint(tmp_path, step)
        if step == 10:
            pod.failed("rank 0 ended with code 1")
    with pytest.raises(NotRestarted, match=r"launch\.max_restarts 1 is used up .rank 0 ended"):
        pod.failed("rank 0 ended with code 1")
    later = launch(tmp_path, most=1)
    with pytest.raises(NotRestarted, match=r"launch\.max_restarts 1 is used up"):
        later.check()
    with pytest.raises(NotRestarted, match=r"launch\.max_restarts 1 is used up"):
        later.begin()


def test_another_launch_of_the_same_run_has_its_own(tmp_path: Path) -> None:
    ended = launch(tmp_path)
    started(ended)
    with pytest.raises(NotRestarted):
        ended.failed("rank 0 ended with code 5", lasting=True)
    resumed = Starts(tmp_path / "restarts" / "launch-2", Limits(1), tmp_path)
    resumed.check()
    assert resumed.begin() == 1


def test_a_start_that_was_cut_off_counts_when_the_next_begins(tmp_path: Path) -> None:
    launch(tmp_path, most=1).begin()  # its pod is killed
    launch(tmp_path, most=1).begin()
    with pytest.raises(NotRestarted, match=r"used up .its processes ended with their node or pod"):
        launch(tmp_path, most=1).begin()


def test_a_node_that_is_asked_to_end_costs_no_restart(tmp_path: Path) -> None:
    asked, other = launch(tmp_path, most=1), launch(tmp_path, most=1)
    for _ in range(3):
        started(asked, other)
        asked.left("a node was asked to end")
        restart = other.failed("rank 1 lost its connection")
        assert restart.line(1) == "restart: in 2 s, and it does not count: a node was asked to end"


def test_without_restarts_a_node_that_was_asked_to_end_is_the_end(tmp_path: Path) -> None:
    asked, other = launch(tmp_path, most=0), launch(tmp_path, most=0)
    started(asked, other)
    asked.left("a node was asked to end")
    with pytest.raises(NotRestarted, match=r"launch\.max_restarts is 0"):
        other.failed("rank 1 lost its connection")


def test_bad_input_is_the_end_whoever_saw_the_failure_first(tmp_path: Path) -> None:
    reader, other = launch(tmp_path), launch(tmp_path)
    started(reader, other)
    other.failed("rank 1 lost its connection")
    with pytest.raises(NotRestarted, match="it would fail again in the same way"):
        reader.failed("rank 0 ended with code 5", lasting=True)
    with pytest.raises(NotRestarted, match="it would fail again in the same way"):
        launch(tmp_path).check()


def test_a_crash_loop_is_seen_across_pods(tmp_path: Path) -> None:
    for _ in range(3):
        pod = launch(tmp_path, most=50, per_hour=50)
        pod.begin()
    with pytest.raises(NotRestarted, match="a crash loop: it failed 3 times in a row"):
        launch(tmp_path, most=50, per_hour=50).begin()


def test_an_hour_has_a_budget_across_pods(tmp_path: Path) -> None:
    for number in range(3):
        launch(tmp_path, most=50, per_hour=2).begin()
        checkpoint(tmp_path, number)
    with pytest.raises(NotRestarted, match="2 restarts within an hour"):
        launch(tmp_path, most=50, per_hour=2).begin()


def test_a_lost_node_of_an_elastic_run_does_not_count_once_the_others_go_on(tmp_path: Path) -> None:
    node = launch(tmp_path, most=1, elastic=True)
    for size in (3, 2, 3, 2):
        started(node, size=size)
        assert node.failed("rank 1 lost its connection").number == 1
    started(node, size=2)
    with pytest.raises(NotRestarted, match=r"launch\.max_restarts 1 is used up"):
        node.failed("rank 1 ended with code 1")
