"""Runs that fail and start again: how often, how soon, and when not."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.launch.unit.test_supervisor import PATIENCE_SECONDS, Nodes
from tests.launch.unit.test_supervisor import nodes as nodes
from trainer.node.failure import NODE_LOST, RANK, Failure
from trainer.node.restart import Restarts

__all__ = ["nodes"]
# Each start adds a line to a file of the run's folder; what follows is one start's work
COUNT = "echo x >> starts-$RANK; n=$(wc -l < starts-$RANK); "


def starts(nodes: Nodes, rank: int) -> int:
    return len((nodes.run / f"starts-{rank}").read_text().splitlines())


def restarts(tmp_path: Path, **config: object) -> Restarts:
    return Restarts({"elastic_min": 0, "max_restarts": 100, **config}, tmp_path)


def failure(code: int = 1, kind: str = RANK, tail: tuple[str, ...] = ()) -> Failure:
    return Failure("node1", kind, "rank 0 ended", time.time(), code, tail)


def checkpoint(output: Path, step: int) -> None:
    folder = output / "checkpoints" / f"step-{step:08d}"
    folder.mkdir(parents=True)
    (folder / "complete.json").touch()


def test_a_run_whose_rank_failed_once_starts_again_on_all_nodes_and_finishes(nodes: Nodes) -> None:
    nodes.start(
        COUNT + "[ $n -ge 2 ] || sleep 60; echo fine",
        COUNT + "[ $n -ge 2 ] || exit 3; echo fine",
        max_restarts=2,
        restart_seconds=0.1,
    )
    first, second = nodes.ended("node1"), nodes.ended("node2")
    assert (first["state"], second["state"]) == ("finished", "finished")
    assert first["restarts"] == 1 and (starts(nodes, 0), starts(nodes, 1)) == (2, 2)
    assert "restart: 1 of 2 in 0.1 s after node2: rank 1 ended with code 3" in nodes.log("node1")


def test_a_rank_that_was_killed_starts_again(nodes: Nodes) -> None:
    nodes.start(COUNT + "[ $n -ge 2 ] || kill -9 $$", max_restarts=1, restart_seconds=0.1)
    assert nodes.ended("node1")["state"] == "finished" and starts(nodes, 0) == 2


def test_after_the_last_restart_the_run_has_failed_and_says_so(nodes: Nodes) -> None:
    nodes.start(COUNT + "exit 3", "sleep 60", max_restarts=1, restart_seconds=0.1)
    first = nodes.ended("node1")
    assert first["state"] == "failed" and starts(nodes, 0) == 2
    assert first["reason"].endswith("not started again: launch.max_restarts 1 is used up")
    assert nodes.ended("node2")["state"] == "failed" and not nodes.processes()


def test_a_crash_loop_stops_though_restarts_are_left(nodes: Nodes) -> None:
    nodes.start(COUNT + "exit 3", max_restarts=50, restarts_per_hour=50, restart_seconds=0.05)
    first = nodes.ended("node1")
    assert first["state"] == "failed" and starts(nodes, 0) == 3
    assert "a crash loop: it failed 3 times in a row" in first["reason"]


@pytest.mark.parametrize("script", ["exit 5", "echo 'trainer: no such file'; exit 1"])
def test_bad_input_is_not_tried_again(nodes: Nodes, script: str) -> None:
    nodes.start(COUNT + script, max_restarts=5, restart_seconds=0.1)
    first = nodes.ended("node1")
    assert first["state"] == "failed" and starts(nodes, 0) == 1
    assert "it would fail again in the same way" in first["reason"]


def test_a_run_that_is_stopped_while_it_waits_to_start_again_is_stopped(nodes: Nodes) -> None:
    nodes.start(COUNT + "exit 3", "sleep 60", max_restarts=5, restart_seconds=100)
    nodes.await_line("node1", "restart: 1 of 5 in 100 s")
    nodes.await_that(lambda: nodes.said("node1")["state"] == "running", "the state while it waits")
    nodes.supervisors["node1"].send_signal(signal.SIGTERM)
    assert nodes.ended("node1")["state"] == "stopped"
    assert nodes.ended("node2")["state"] == "stopped" and starts(nodes, 0) == 1


def test_a_node_that_still_ends_its_ranks_is_stopped_too(nodes: Nodes) -> None:
    stubborn = "trap '' TERM; while :; do sleep 0.1; done"
    nodes.start(COUNT + "exit 3", stubborn, max_restarts=5, restart_seconds=100)
    nodes.await_line("node2", "ending this node's processes")
    nodes.supervisors["node1"].send_signal(signal.SIGTERM)
    assert nodes.ended("node1")["state"] == "stopped"
    assert nodes.ended("node2")["state"] == "stopped" and starts(nodes, 0) == 1


def test_a_lost_node_is_not_waited_for(nodes: Nodes) -> None:
    nodes.start("sleep 60", "sleep 60", max_restarts=5, restart_seconds=0.1)
    nodes.await_line("node1", "node2 has joined")
    nodes.supervisors["node2"].kill()
    nodes.supervisors["node2"].wait(PATIENCE_SECONDS)
    first = nodes.ended("node1")
    assert first["state"] == "failed" and first["cause"]["kind"] == NODE_LOST


def test_an_hour_has_a_budget(tmp_path: Path) -> None:
    again = restarts(tmp_path, restarts_per_hour=2)
    for step in (10, 20):
        checkpoint(tmp_path, step)
        assert again.refusal(failure()) == ""
        again.begin()
    checkpoint(tmp_path, 30)
    assert again.refusal(failure()) == "2 restarts within an hour (launch.restarts_per_hour)"
    again.failures = [
        each._replace(started=each.started - 3601, ended=each.ended - 3601)
        for each in again.failures
    ]
    checkpoint(tmp_path, 40)
    assert again.refusal(failure()) == ""


def test_pauses_grow_while_nothing_is_saved_and_shrink_once_it_is(tmp_path: Path) -> None:
    again = restarts(tmp_path)
    pauses = []
    for _ in range(2):
        assert again.refusal(failure()) == ""
        pauses.append(again.limits.pause(again.failures))
        again.begin()
    checkpoint(tmp_path, 10)
    assert again.refusal(failure()) == ""
    assert [*pauses, again.limits.pause(again.failures)] == [2.0, 4.0, 2.0]


def test_elastic_runs_leave_restarts_to_torchrun(tmp_path: Path) -> None:
    assert restarts(tmp_path, elastic_min=1).refusal(failure()) == "launch.max_restarts is 0"
