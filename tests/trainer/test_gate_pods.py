"""The gate inside ranks, of a cluster's pods and over SSH: once in a life of the run, judged by
rank 0, and all begin or none does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.trainer.launching import ROOT

PATIENCE_SECONDS = 180.0  # a busy two-core machine imports for half a minute


class Pods:
    """Two pods of one rank each, which only prove their network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def meet(self, life: str, **variables: str) -> list[tuple[int, str]]:
        """Each rank's exit code and output."""
        started = [self._start(rank, {"TRAINER_GATE_LIFE": life, **variables}) for rank in range(2)]
        try:
            said = [process.communicate(timeout=PATIENCE_SECONDS)[0] for process in started]
        finally:
            for process in started:
                process.kill()
        return [(process.returncode, text) for process, text in zip(started, said, strict=True)]

    def _start(self, rank: int, variables: dict[str, str]) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "CUDA_VISIBLE_DEVICES": "",
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": "0",
            "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.port),
            "NODE_NAME": f"node{rank + 1}",
            "TRAINER_GATE": "gate.json",
            "TRAINER_GATE_ALONE": "1",
            "TRAINER_NODE": str(self.folder),
            **variables,
        }
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "trainer",
                "--profile",
                "gpt2-micro-smoke",
                "--output",
                str(self.folder / "output"),
            ],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


@pytest.mark.processes
def test_the_network_is_proved_once_in_a_life_of_the_run_and_rank_0_judges_it(
    tmp_path: Path,
) -> None:
    pods = Pods(tmp_path)
    first = pods.meet("one", TRAINER_REHEARSAL="steps=1,processes=1")
    assert [code for code, _ in first] == [0, 0], first
    result = json.loads((tmp_path / "gate.json").read_text())
    assert f"GATE {json.dumps(result)}" in first[0][1].splitlines()
    assert (
        result["verdict"]["ok"]
        and result["life"] == "one"
        and result["nodes"] == ["node1", "node2"]
        and result["one_machine"]
    ), "and of a rehearsal it is said that its nodes are one machine"
    assert [(code, "GATE" in out) for code, out in pods.meet("one")] == [(0, False), (0, False)], (
        "they met again, and only that"
    )
    closed = pods.meet("two", TRAINER_GATE_EXPECTED="100000,")
    assert [code for code, _ in closed] == [6, 6], (
        "another life, and links that should be faster: no rank begins"
    )
    assert "gate: network check failed: the link node1 - node2 is slow" in closed[0][1]
    assert not (tmp_path / "output").exists()


@pytest.mark.processes
def test_over_ssh_ranks_begin_by_themselves_and_a_node_remembers_that_they_passed(
    tmp_path: Path,
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    passed, result = tmp_path / "go", tmp_path / "gate.json"
    over_ssh = {
        "TRAINER_GO": str(passed),
        "TRAINER_GATE": str(result),
        "TRAINER_GATE_PORT": port,
        "TRAINER_REHEARSAL": "steps=1,processes=1",
    }
    ranks = Pods(tmp_path)
    closed = ranks.meet("", **over_ssh, TRAINER_GATE_EXPECTED="100000,")
    assert [code for code, _ in closed] == [6, 6] and not passed.exists(), closed
    assert json.loads(result.read_text())["verdict"]["ok"] is False
    opened = ranks.meet("", **over_ssh)
    assert [code for code, _ in opened] == [0, 0] and passed.exists(), opened
    assert [(code, "GATE" in out) for code, out in ranks.meet("", **over_ssh)] == [(0, False)] * 2


@pytest.mark.processes
def test_no_rank_begins_before_the_finding_is_written(tmp_path: Path) -> None:
    """The supervisors end the others when one rank has ended: what it ended on must be there."""
    (tmp_path / "file").touch()
    passed = tmp_path / "go"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    ended = Pods(tmp_path).meet(
        "",
        TRAINER_GO=str(passed),
        TRAINER_GATE=str(tmp_path / "file" / "gate.json"),
        TRAINER_GATE_PORT=port,
    )
    assert all(code for code, _ in ended) and not passed.exists(), ended
    assert "cannot be written" in ended[0][1]
