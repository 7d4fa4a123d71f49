"""Supervisors on loopback addresses with plain programs for ranks: who ends when, and what is
written down about it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.until import until
from trainer.node.failure import (
    FIRST_NODE_LOST,
    LEASE_EXPIRED,
    NODE_NOT_JOINED,
)

ROOT = Path(__file__).parents[3]


PATIENCE_SECONDS = 30.0


class Nodes:
    """A run's folder and its supervisors, all on this machine."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self.run_id = f"run-{secrets.token_hex(4)}"  # supervisors end what has their run's mark
        self.supervisors: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def start(self, *scripts: str, **told: Any) -> None:
        """One node per script, named node1, node2, ...; what a script does is its rank's work."""
        for rank, script in enumerate(scripts):
            self.add(rank, script, len(scripts), **told)

    def add(self, rank: int, script: str, count: int, **told: Any) -> None:
        host = f"node{rank + 1}"
        own = self.run / "nodes" / host
        own.mkdir(parents=True)
        (own / "token").write_text(told.pop("token", "secret"))
        (own / "environment.json").write_text(json.dumps({"GREETING": "hello"}))
        full = {
            "run_id": self.run_id,
            "host": host,
            "node_rank": rank,
            "token": str(own / "token"),
            "environment": str(own / "environment.json"),
            "others": [f"node{number + 1}" for number in range(1, count)],
            "link": {"address": "127.0.0.1", "port": self.port},
            "detached": True,
            "lease_seconds": 4.0,
            "silence_seconds": 3.0,
            "join_seconds": 15.0,
            "grace_seconds": 5.0,
            "elastic_min": 0,
            "commands": [
                {
                    "argv": ["/bin/sh", "-c", script],
                    "environment": {"RANK": str(rank)},
                    "label": str(rank),
                }
            ],
            **told,
        }
        (own / "start.json").write_text(json.dumps(full))
        self.supervisors[host] = subprocess.Popen(
            [sys.executable, "-m", "trainer.node.supervisor", str(self.run), host],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    def said(self, host: str) -> dict[str, Any]:
        path = self.run / "nodes" / host / "supervisor.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def log(self, host: str) -> str:
        path = self.run / "nodes" / host / "log"
        return path.read_text() if path.exists() else ""

    def ended(self, host: str) -> dict[str, Any]:
        self.supervisors[host].wait(PATIENCE_SECONDS)
        return self.said(host)

    def await_that(self, holds: Callable[[], object], what: str) -> None:
        until(holds, what=what, seconds=PATIENCE_SECONDS)

    def await_line(self, host: str, text: str) -> None:
        self.await_that(lambda: text in self.log(host), f"{text!r} in the log of {host}")

    def processes(self) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"PLAYRUNNER_RUN={self.run_id}/".encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for supervisor in made.supervisors.values():
        if supervisor.poll() is None:
            supervisor.terminate()
            supervisor.wait(PATIENCE_SECONDS)
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)


def test_a_run_is_finished_when_all_nodes_are_and_every_line_says_whose_it_is(nodes: Nodes) -> None:
    nodes.start("echo $GREETING from $RANK", "sleep 1; printf 'no newline'")
    assert nodes.ended("node1")["state"] == "finished"
    assert nodes.ended("node2")["state"] == "finished"
    assert "[0] hello from 0\n" in nodes.log("node1")
    assert "[1] no newline\n" in nodes.log("node2")


def test_the_first_failure_ends_all_nodes_and_is_named_everywhere(nodes: Nodes) -> None:
    nodes.start("sleep 60", "sleep 0.5; echo out of luck; exit 3")
    first = nodes.ended("node1")
    assert first["state"] == "failed"
    assert first["reason"] == "node2: rank 1 ended with code 3"
    assert first["cause"]["tail"] == ["[1] out of luck"]
    assert nodes.ended("node2")["state"] == "failed"
    assert nodes.processes() == []


def test_asked_to_stop_ranks_may_save_and_it_is_no_failure(nodes: Nodes) -> None:
    script = "trap 'sleep 0.3; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    nodes.start(script, script)
    for host in ("node1", "node2"):
        nodes.await_line(host, "ready")
    nodes.await_line("node1", "node2 has joined")
    nodes.supervisors["node1"].terminate()
    for host, rank in (("node1", 0), ("node2", 1)):
        assert nodes.ended(host)["state"] == "stopped"
        assert f"[{rank}] saved" in nodes.log(host)
    assert nodes.processes() == []


def test_ranks_are_told_whether_the_run_ends_or_only_they(nodes: Nodes) -> None:
    """A launcher that starts its ranks again sends the same signal as a supervisor that ends the
    run."""
    script = (
        "trap '[ -e $TRAINER_NODE/stop ] && echo for good; exit 0' TERM; echo ready; while :; do"
        " sleep 0.05; done"
    )
    nodes.start(script)
    nodes.await_line("node1", "ready")
    assert not (nodes.run / "nodes" / "node1" / "stop").exists()
    nodes.supervisors["node1"].terminate()
    assert nodes.ended("node1")["state"] == "stopped"
    assert "[0] for good" in nodes.log("node1")


@pytest.mark.parametrize(
    ("sees", "keeps"),
    [(["node1", "node2"], ["", ""]), ([["node1"], ["node2"]], ["1", "1"]), ([], ["", ""])],
)
def test_of_nodes_that_share_no_folder_each_keeps_its_own(
    nodes: Nodes, sees: list[Any], keeps: list[str]
) -> None:
    for rank in range(2):
        own = sees[rank] if sees and isinstance(sees[0], list) else sees
        nodes.add(rank, 'echo "keeps=$TRAINER_KEEPS"', 2, sees=own, nodes=["node1", "node2"])
    for rank, host in enumerate(("node1", "node2")):
        assert nodes.ended(host)["apart"] is bool(keeps[rank])
        assert f"[{rank}] keeps={keeps[rank]}\n" in nodes.log(host)


def test_what_does_not_end_in_time_is_killed_wherever_it_hid(nodes: Nodes) -> None:
    hiding = "setsid sh -c \"trap '' TERM; echo hidden; while :; do sleep 0.1; done\""
    nodes.start(f"trap '' TERM; {hiding} & wait; sleep 60", grace_seconds=0.5)
    nodes.await_line("node1", "hidden")
    nodes.supervisors["node1"].terminate()
    assert nodes.ended("node1")["state"] == "stopped"
    assert nodes.processes() == []


def test_a_run_that_nobody_follows_ends_with_its_lease(nodes: Nodes) -> None:
    nodes.add(0, "sleep 60", 2, detached=False, lease_seconds=1.0)
    nodes.add(1, "sleep 60", 2, lease_seconds=20.0)
    said = nodes.ended("node1")
    assert said["reason"] == "node1: the controller has not been heard from for 1 s"
    assert said["cause"]["kind"] == LEASE_EXPIRED
    assert nodes.ended("node2")["state"] == "failed"
    assert nodes.processes() == []


def test_a_renewed_lease_keeps_a_run(nodes: Nodes) -> None:
    nodes.start("echo ready; sleep 3; echo done", detached=False, lease_seconds=1.0)
    nodes.await_line("node1", "ready")
    beats = 0
    while nodes.supervisors["node1"].poll() is None:
        beats += 1
        (nodes.run / "nodes" / "node1" / "lease").write_text(str(beats))
        time.sleep(0.2)
    assert nodes.said("node1")["state"] == "finished"


def test_a_node_whose_supervisor_is_killed_is_lost_and_its_ranks_go_with_it(nodes: Nodes) -> None:
    nodes.start("sleep 60", "echo ready; exec sleep 60")
    nodes.await_line("node2", "ready")
    nodes.await_line("node1", "node2 has joined")
    nodes.supervisors["node2"].kill()
    since = time.monotonic()
    said = nodes.ended("node1")
    assert time.monotonic() - since < 8
    assert said["state"] == "failed"
    assert "node2" in said["reason"]
    nodes.await_that(lambda: not nodes.processes(), "the end of node2's rank")


def test_an_elastic_run_goes_on_without_a_lost_node(nodes: Nodes) -> None:
    nodes.start(
        "echo ready; while [ ! -e go ]; do sleep 0.1; done; echo done",
        "echo ready; exec sleep 60",
        elastic_min=1,
    )
    nodes.await_line("node2", "ready")
    nodes.await_line("node1", "node2 has joined")
    nodes.supervisors["node2"].kill()
    nodes.await_line("node1", "the run goes on with 1 of 2 nodes")
    (nodes.run / "go").touch()
    said = nodes.ended("node1")
    assert said["state"] == "finished"
    assert said["lost"] == ["node2"]


def test_without_the_token_nobody_joins(nodes: Nodes) -> None:
    nodes.add(0, "sleep 60", 2, join_seconds=2.0)
    nodes.add(1, "sleep 60", 2, token="wrong", lease_seconds=1.0)
    said, alone = nodes.ended("node1"), nodes.ended("node2")
    assert said["reason"] == "node2: did not join within 2 s"
    assert said["cause"]["kind"] == NODE_NOT_JOINED
    assert alone["reason"] == "node2: the first node has not been heard from for 1 s"
    assert alone["cause"]["kind"] == FIRST_NODE_LOST


def test_a_program_that_is_not_there_is_said_so(nodes: Nodes) -> None:
    missing = [{"argv": ["/no/such/python"], "environment": {}, "label": "0"}]
    nodes.start("", commands=missing)
    said = nodes.ended("node1")
    assert said["state"] == "failed"
    assert "No such file or directory: '/no/such/python'" in said["reason"]


def test_a_stranger_at_the_link_port_is_refused_once_and_the_run_goes_on(nodes: Nodes) -> None:
    until_told = "until [ -e over ]; do sleep 0.1; done"
    nodes.start(until_told, until_told)
    nodes.await_line("node1", "node2 has joined")
    for said in (
        b'{"node":"x","proof":"\\u00e9"}\n',
        b"[" * 60_000 + b"\n",
        b"\xff\n",
        b"a" * 100_000,
    ):
        with socket.create_connection(("127.0.0.1", nodes.port), 5) as stranger:
            try:
                stranger.sendall(said)
                stranger.settimeout(10)
                while stranger.recv(4096):  # until it is hung up on
                    pass
            except ConnectionError:
                pass
    (nodes.run / "over").touch()
    assert nodes.ended("node1")["state"] == "finished"
    assert nodes.ended("node2")["state"] == "finished"
    assert nodes.log("node1").count("a connection from 127.0.0.1 to the link port was refused") == 1
