"""torchrun's agents with the launch's own count of restarts: real agents, and ranks that only
fail."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.until import until
from trainer.config import Launch
from trainer.node import starts

PATIENCE_SECONDS = 120.0
# Each start of a rank adds a line; the last words say what it does then
COUNT = (
    "import os, sys, time; rank = os.environ['RANK']; file = open('starts-' + rank, 'a');"
    "print('x', file=file, flush=True); number = len(open('starts-' + rank).readlines());"
)


class Agents:
    """Those of one launch, in a folder that they share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.running: list[subprocess.Popen[str]] = []

    def start(self, does: str, most: int, nodes: int = 1, first: bool = True) -> None:
        (self.folder / "rank.py").write_text(COUNT + does)
        limits = Launch(max_restarts=most, restarts_per_hour=50)
        variables = starts.setting(str(self.folder), "launch-1", limits, elastic=False)
        command = [
            sys.executable, "-m", "trainer.torchrun", f"--nnodes={nodes}", "--nproc_per_node=1",
            "--rdzv_backend=c10d", f"--rdzv_endpoint=127.0.0.1:{self.port}",
            "--local_addr=127.0.0.1",
            f"--rdzv_conf=is_host={int(first)},last_call_timeout=1,keep_alive_interval=1",
            "--max_restarts=99", "--tee=3", "rank.py",
        ]  # fmt: skip
        self.running.append(
            subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def ended(self) -> list[tuple[int, str]]:
        """The code and the output of each, in their order."""
        outputs = [agent.communicate(timeout=PATIENCE_SECONDS)[0] for agent in self.running]
        codes = [agent.returncode for agent in self.running]
        self.running.clear()
        return list(zip(codes, outputs, strict=True))

    def starts(self, rank: int = 0) -> int:
        file = self.folder / f"starts-{rank}"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def await_starts(self, number: int) -> None:
        until(self.starts, lambda seen: seen == number, what="a start", process=self.running[0])


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(tmp_path)


def test_ranks_start_again_as_often_as_the_launch_allows_and_a_later_pod_finds_so(
    agents: Agents,
) -> None:
    agents.start("sys.exit(3)", most=1)
    ((code, said),) = agents.ended()
    assert (code, agents.starts()) == (79, 2), said
    assert "restart: 1 of 1 in 2 s after rank 0 ended with code 3" in said
    assert said.splitlines()[-1] == (
        "restart: not started again: launch.max_restarts 1 is used up (rank 0 ended with code 3)"
    )
    agents.start("sys.exit(3)", most=1)
    ((code, said),) = agents.ended()
    assert (code, agents.starts()) == (79, 2), said
    assert "launch.max_restarts 1 is used up" in said


def test_a_failure_of_one_node_is_one_restart_of_both(agents: Agents) -> None:
    # Of the first node's rank nothing is seen at first, then it loses the other
    does = "time.sleep((600 if number == 1 else 3) * (rank == '0')); sys.exit(3 + int(rank))"
    agents.start(does, most=1, nodes=2)
    agents.start(does, most=1, nodes=2, first=False)
    codes, texts = zip(*agents.ended(), strict=True)
    text = "\n".join(texts)
    assert (codes, agents.starts(0), agents.starts(1)) == ((79, 79), 2, 2), text
    assert "restart: 1 of 1 in 2 s after rank 1 ended with code 4" in text
    assert text.count("launch.max_restarts 1 is used up") == 2, text


def test_agents_that_are_killed_count_and_those_that_are_asked_to_end_do_not(
    agents: Agents,
) -> None:
    for number, sign in enumerate([signal.SIGTERM, signal.SIGTERM, signal.SIGKILL], 1):
        agents.start("time.sleep(600)", most=0)
        agents.await_starts(number)
        agents.running[0].send_signal(sign)
        agents.ended()
    agents.start("time.sleep(600)", most=0)
    ((code, said),) = agents.ended()
    assert (code, agents.starts()) == (79, 3), said
    assert "launch.max_restarts is 0 (its processes ended with their node or pod)" in said


def test_bad_input_is_not_tried_again(agents: Agents) -> None:
    agents.start("sys.exit(5)", most=3)
    ((code, said),) = agents.ended()
    assert (code, agents.starts()) == (79, 1), said
    assert "it would fail again in the same way (rank 0 ended with code 5)" in said
