"""The gate as real processes, and what they wrote."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.trainer.launching import ROOT


class Gate:
    """So many processes, each a node of its own name."""

    def __init__(self, folder: Path, size: int) -> None:
        self.output, self.size = folder / "gate.json", size
        self.started: dict[int, subprocess.Popen[str]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def start(
        self,
        rank: int,
        *arguments: str,
        program: tuple[str, ...] = (),
        inside: tuple[str, ...] = (),
        variables: dict[str, str] | None = None,
    ) -> None:
        """`program` in place of the gate; `inside` is what comes before the whole command."""
        command = program or (
            "-m",
            "trainer.netcheck.gate",
            "--output",
            str(self.output),
            *arguments,
        )
        names = ",".join(f"node{number}" for number in range(1, self.size + 1))
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(self.port),
            "WORLD_SIZE": str(self.size),
            "RANK": str(rank),
            "GATE_NODES": names,
            "CUDA_VISIBLE_DEVICES": "",
            **(variables or {}),
        }
        self.started[rank] = subprocess.Popen(
            [*inside, sys.executable, *command],
            cwd=ROOT,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ended(self) -> dict[int, tuple[int, str, str]]:
        """Exit code, stdout and stderr of each rank; whoever hangs is killed."""
        try:
            said = {
                rank: process.communicate(timeout=180) for rank, process in self.started.items()
            }
        finally:
            for process in self.started.values():
                process.kill()
        return {rank: (self.started[rank].returncode, *said[rank]) for rank in said}

    def result(self) -> dict[str, Any]:
        return json.loads(self.output.read_text())  # type: ignore[no-any-return]
