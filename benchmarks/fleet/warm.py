"""`python -m benchmarks.fleet.warm`: the second command on ten hosts at 50 ms, over connections
that stay open, beside a script with warm OpenSSH masters."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.fleet.fleet import fleet_of
from benchmarks.runner.stage import Stage
from benchmarks.runner.tools import REPOSITORY
from playrunner.sandbox import node_inventory, sshd

HOSTS, ROUND_TRIP_MS, REPEATS = 10, 50, 7
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: there, command: "true", changed_when: false}
"""


def main() -> int:
    with fleet_of(HOSTS) as fleet, tempfile.TemporaryDirectory(prefix="warm") as folder:
        fleet.stage.write()
        fleet.round_trip(ROUND_TRIP_MS)
        play = Path(folder) / "play.yaml"
        play.write_text(PLAY)
        ways: dict[str, Callable[[], None]] = {
            "OpenSSH, warm masters": _masters(fleet.stage, Path(folder)),
            "playrunner, new connections": lambda: _play(fleet.stage, play, folder, "0"),
            "playrunner, connections.keep": lambda: _play(fleet.stage, play, folder, "5m"),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for way in ways.values():
            way()  # opens what stays open
        for _ in range(REPEATS):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - began)
        floor = median(seconds["OpenSSH, warm masters"])
        print(f"{HOSTS} hosts, {ROUND_TRIP_MS} ms, load {os.getloadavg()[0]:.1f}\n")
        print("| second command | s (median) | s (least) | x OpenSSH |\n|---|---|---|---|")
        for name, taken in seconds.items():
            print(
                f"| {name} | {median(taken):.2f} | {min(taken):.2f} | {median(taken) / floor:.2f} |"
            )
        _invoke(["connections.close"], folder, "5m")
    return 0


def _masters(stage: Stage, folder: Path) -> Callable[[], None]:
    login = [
        *("ssh", "-F", "none", "-i", str(node_inventory.key_file(stage.root))),
        *("-o", f"UserKnownHostsFile={node_inventory.known_hosts_file(stage.root)}"),
        *("-o", "ControlMaster=auto", "-o", "ControlPersist=300"),
        *("-o", f"ControlPath={folder}/%h"),
    ]

    def run() -> None:
        running = [
            subprocess.Popen(
                [*login, "-p", str(node.port), f"{sshd.login_name()}@{node.address}", "true"],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for node in stage.nodes
        ]
        if any(process.wait() for process in running):
            raise SystemExit("ssh failed")

    return run


def _play(stage: Stage, play: Path, folder: str, keep: str) -> None:
    _invoke(["play", str(play), "--inventory", str(stage.inventory)], folder, keep)


def _invoke(words: list[str], folder: str, keep: str) -> None:
    settings = {
        "PLAYRUNNER_STATE_HOME": f"{folder}/state",
        "XDG_RUNTIME_DIR": folder,
        "PLAYRUNNER_CONNECTIONS_KEEP": keep,
    }
    program = str(Path(sys.executable).with_name("invoke"))
    subprocess.run(
        [program, *words],
        check=True,
        cwd=REPOSITORY,
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    sys.exit(main())
