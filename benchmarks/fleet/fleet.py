"""Brings a fleet of simulated hosts up for a benchmark or a test, and takes it down."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.runner.stage import Stage
from playrunner.sandbox import node_inventory, sshd

HERE = Path(__file__).parent
VENV = HERE.parents[1] / ".bench" / "venvs" / "fleet"
PORT = 19022
PAYLOAD_BYTES = 64 * 1024  # 1 MiB for each of 1,000 hosts would measure the disk
HOSTS_PER_NET = 200


@dataclass
class Fleet:
    """A running fleet: its stage, and the process that serves it."""

    stage: Stage
    process: subprocess.Popen[str]

    def set(self, **settings: Any) -> dict[str, int]:
        """Change the fleet's settings from now on; returns its counts."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(settings) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]

    def round_trip(self, milliseconds: float, **link: float) -> None:
        self.set(link={"round_trip_seconds": milliseconds / 1000, **link})


@contextmanager
def fleet_of(
    size: int, port: int = PORT, hosts: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[Fleet]:
    """So many hosts on loopback addresses, gone afterwards; `hosts` has settings of some."""
    folder = Path(tempfile.mkdtemp(prefix="playrunner-fleet-"))
    process = None
    try:
        stage = _stage(folder, size, port)
        settings = {
            "hosts": [
                {**node.summary(), **(hosts or {}).get(node.name, {})} for node in stage.nodes
            ],
            "host_key": str(folder / "host_key"),
            "authorized_keys": str(node_inventory.key_file(stage.root).with_suffix(".pub")),
            "python": os.path.realpath(sys.executable),
            "link": {},
        }
        (folder / "fleet.json").write_text(json.dumps(settings))
        process = subprocess.Popen(
            [_python(), str(HERE / "server.py"), str(folder / "fleet.json")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            raise SystemExit("the fleet did not start; its message is above")
        yield Fleet(stage, process)
    finally:
        if process:
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _stage(folder: Path, size: int, port: int) -> Stage:
    root = folder / "sandbox"
    root.mkdir()
    nodes = tuple(
        node_inventory.Node(
            f"host{number:04}",
            f"127.1.{number // HOSTS_PER_NET}.{number % HOSTS_PER_NET + 1}",
            port,
            root / "nodes" / f"host{number:04}",
        )
        for number in range(size)
    )
    for node in nodes:
        node.scratch.mkdir(parents=True)
    host_key = folder / "host_key"
    sshd.make_keys([node_inventory.key_file(root), host_key])
    kind, key = host_key.with_suffix(".pub").read_text().split()[:2]
    node_inventory.known_hosts_file(root).write_text(
        "".join(f"[{node.address}]:{node.port} {kind} {key}\n" for node in nodes)
    )
    (folder / "payload.bin").write_bytes(random.Random(20).randbytes(PAYLOAD_BYTES))
    (folder / "ansible.cfg").touch()
    return Stage(folder, root, nodes)


def _python() -> str:
    """The Python that has asyncssh; its virtual environment is made when it is missing."""
    wanted = (HERE / "requirements.txt").read_text()
    marker = VENV / "installed.txt"
    if not (marker.exists() and marker.read_text() == wanted):
        venv.create(VENV, clear=True, symlinks=True, with_pip=True)
        pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--requirement", str(HERE / "requirements.txt")], check=True)
        marker.write_text(wanted)
    return str(VENV / "bin" / "python")
