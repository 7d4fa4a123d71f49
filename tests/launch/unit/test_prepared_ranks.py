"""Supervisors that are started ahead of their launch, with real interpreters that import torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.until import until
from trainer.node.processes import marked

ROOT = Path(__file__).parents[3]
RUN_ID = f"prepared-{os.getpid()}"
SECONDS = 60.0
REFUSED = "[0] trainer: no profile"  # it was run with its arguments


class Node:
    """A node's supervisor that waits, and what its launch would be."""

    def __init__(self, folder: Path) -> None:
        self.run = folder / "run"
        self.own = self.run / "nodes" / "node1"
        words = ["--profile", str(folder / "none.yaml"), "--output", str(folder / "output")]
        self.command: dict[str, Any] = {
            "argv": [sys.executable, "-u", "-m", "trainer", *words],
            "environment": {"RANK": "0", "MASTER_PORT": "29500"},
            "label": "0",
        }
        self.supervisor = subprocess.Popen(
            [sys.executable, "-m", "trainer.node.prepared", str(self.run), "node1"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        order = {
            "run_id": RUN_ID,
            "code": str(ROOT),
            "token": str(self.own / "token"),
            "environment": {"OMP_NUM_THREADS": "1"},
            "commands": [self.command],
        }
        assert self.supervisor.stdin
        self.supervisor.stdin.write(json.dumps(order).encode() + b"\n")
        self.supervisor.stdin.flush()

    def begin(self, **environment: str) -> None:
        """The launch as it turned out."""
        self.own.mkdir(parents=True)
        (self.own / "token").write_text("secret")
        shared = {"OMP_NUM_THREADS": "1", **environment}
        (self.own / "environment.json").write_text(json.dumps(shared))
        own = {**self.command["environment"], "MASTER_PORT": "29510"}
        order = {
            "run_id": RUN_ID,
            "host": "node1",
            "node_rank": 0,
            "nodes": ["node1"],
            "others": [],
            "token": str(self.own / "token"),
            "environment": str(self.own / "environment.json"),
            "link": {"address": "127.0.0.1", "port": 0},
            "detached": True,
            "lease_seconds": 4.0,
            "silence_seconds": 3.0,
            "join_seconds": 15.0,
            "grace_seconds": 5.0,
            "elastic_min": 0,
            "commands": [{**self.command, "environment": own}],
        }
        (self.own / "start.json").write_text(json.dumps(order))
        assert self.supervisor.stdin
        self.supervisor.stdin.write(b"begin\n")
        self.supervisor.stdin.close()

    def ranks(self) -> set[int]:
        return marked(f"{RUN_ID}/node1") - {self.supervisor.pid}

    def started(self) -> set[int]:
        """The processes of the run, as its supervisor says."""
        status = self.own / "supervisor.json"
        until(status.exists, what="a status", seconds=SECONDS)
        return {int(pid) for pid in json.loads(status.read_text())["processes"]}

    def ended(self) -> str:
        assert self.supervisor.wait(SECONDS) is not None
        return (self.own / "log").read_text()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    until(made.ranks, what="a prepared rank", seconds=SECONDS)
    yield made
    made.supervisor.kill()
    made.supervisor.wait()
    for pid in made.ranks():
        os.kill(pid, signal.SIGKILL)


def test_a_prepared_rank_becomes_the_process_of_the_run(node: Node) -> None:
    (prepared,) = node.ranks()
    os.kill(prepared, signal.SIGSTOP)
    node.begin()
    assert node.started() == {prepared}
    os.kill(prepared, signal.SIGCONT)
    assert REFUSED in node.ended()
    assert node.ranks() == set()


def test_a_rank_whose_variables_are_others_is_started_anew(node: Node) -> None:
    (prepared,) = node.ranks()
    os.kill(prepared, signal.SIGSTOP)
    node.begin(OMP_NUM_THREADS="2")
    assert REFUSED in node.ended()
    assert node.ranks() == set()


def test_a_prepared_rank_that_has_ended_is_started_anew(node: Node) -> None:
    (prepared,) = node.ranks()
    os.kill(prepared, signal.SIGKILL)
    until(lambda: not node.ranks(), what="its end", seconds=SECONDS)
    node.begin()
    assert REFUSED in node.ended()


def test_a_launch_that_comes_to_nothing_leaves_no_process_and_no_file(node: Node) -> None:
    assert node.supervisor.stdin
    node.supervisor.stdin.close()
    assert node.supervisor.wait(SECONDS) == 0
    until(lambda: not node.ranks(), what="the end of the prepared ranks", seconds=SECONDS)
    assert not node.run.exists()


def test_prepared_ranks_end_with_their_supervisor(node: Node) -> None:
    node.supervisor.kill()
    until(lambda: not node.ranks(), what="the end of the prepared ranks", seconds=SECONDS)


def test_what_is_prepared_imports_no_compiler_and_opens_no_device() -> None:
    """The compiler's folders are set, and devices are asked for, when the rank has begun."""
    code = (
        "import importlib, sys, os; from trainer.node.prepared_rank import IMPORTS\n"
        "[importlib.import_module(name) for names in IMPORTS.values() for name in names]\n"
        "import torch\n"
        "print([name for name in ('torch._inductor', 'torch._dynamo', 'deepspeed')"
        " if name in sys.modules], torch.cuda.is_initialized())"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout == "[] False\n", ran.stderr
