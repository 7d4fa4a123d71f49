"""The sandbox a soak runs on: its commands, its processes, and what must hold between turns."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from playrunner.sandbox import nodes as sandbox_nodes
from playrunner.sandbox import state as sandbox_state

ROOT = Path(__file__).parents[2]
TURN_SECONDS = 600.0
SETTLE_SECONDS = 30.0  # for what ends with a connection or a run
# A server may learn something on its first turns; after those it must stay as it is
LEARNING_TURNS = 6
# Of a disturbed command: done, failed, unreachable, nothing could be written, interrupted
ENDINGS = (0, 2, 4, 8, 130)
MORE_FILES, MORE_THREADS, MORE_MIB = 24, 24, 150


@dataclass
class Ended:
    """One command: how it ended, and what it printed."""

    code: int
    out: str
    err: str

    def shown(self) -> str:
        return f"{self.code}: {(self.out + self.err)[-1500:]}"

    def recap(self) -> dict[str, dict[str, int]]:
        return dict(json.loads(self.out)["recap"])

    def total(self, count: str) -> int:
        return sum(counts[count] for counts in self.recap().values())


@dataclass
class World:
    """A sandbox of the soak's own, and what is known of its long-lived processes."""

    folder: Path
    rng: random.Random
    sizes: dict[int, tuple[int, int, float]] = field(default_factory=dict)
    turns: int = 0
    loss: float | None = None  # of the training run that nothing disturbed

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def records(self) -> Path:
        return self.state / "runs"

    @property
    def sandbox(self) -> Path:
        return self.state / "sandbox"

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(self.state),
            "XDG_RUNTIME_DIR": str(self.folder),
            "PLAYRUNNER_CONNECTIONS_KEEP": "30s",
            "PLAYRUNNER_SILENT_SECONDS": "30",
        }

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "invoke", *words],
            cwd=ROOT,
            env={**self.environment(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> Ended:
        try:
            out, err = process.communicate(timeout=TURN_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Violation(f"{process.args} did not end in {TURN_SECONDS:g} s: {err}") from None
        if "Traceback" in err or process.returncode == 1:
            raise Violation(f"{process.args} ended with {process.returncode}: {err[-2000:]}")
        return Ended(process.returncode, out, err)

    def run(self, *words: str) -> Ended:
        return self.finish(self.start(*words))

    def node_processes(self) -> list[psutil.Process]:
        """What runs on the nodes beside their sshd."""
        marks = {f"{sandbox_nodes.MARK}={self.sandbox}/{node.name}" for node in self.nodes()}
        listeners = {node.pid for node in self.nodes()}
        return [
            psutil.Process(pid)
            for pid in sandbox_state.with_environment(marks) - listeners
            if psutil.pid_exists(pid)
        ]

    def nodes(self) -> tuple[Any, ...]:
        return sandbox_nodes.status(self.sandbox)

    def check(self) -> None:
        """Everything that must hold when no command runs."""
        self.turns += 1
        self.run("connections.close")
        _until(lambda: not self.node_processes(), "a process is left on a node", self._shown)
        for process in self.servers():
            self._check_size(process)
        zombies = [
            child.pid
            for process in [psutil.Process(), *self.servers()]
            for child in process.children(recursive=True)
            if child.status() == psutil.STATUS_ZOMBIE
        ]
        if zombies:
            raise Violation(f"zombies: {zombies}")
        for node in self.nodes():
            if scraps := [str(path) for path in node.scratch.rglob(".playrunner*")]:
                raise Violation(f"half-written files are left: {scraps}")
        if not self.run("connections.list", "--json").out:
            raise Violation("connections.list prints nothing")

    def _shown(self) -> str:
        return "; ".join(" ".join(process.cmdline())[:200] for process in self.node_processes())

    def servers(self) -> list[psutil.Process]:
        """The sandbox's own long-lived processes: clouds and the cluster's API."""
        found = []
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
                if any(word.startswith("playrunner.sandbox") for word in words) and (
                    process.environ().get("PLAYRUNNER_STATE_HOME") == str(self.state)
                ):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _check_size(self, process: psutil.Process) -> None:
        try:
            size = (
                process.num_fds(),
                process.num_threads(),
                process.memory_info().rss / (1 << 20),
            )
        except psutil.Error:
            return
        if process.pid not in self.sizes or self.turns <= LEARNING_TURNS:
            self.sizes[process.pid] = size
            return
        before = self.sizes[process.pid]
        allowed = (before[0] + MORE_FILES, before[1] + MORE_THREADS, before[2] + MORE_MIB)
        if any(now > most for now, most in zip(size, allowed, strict=True)):
            raise Violation(
                f"{' '.join(process.cmdline())[:120]} has grown from {before} to {size}"
                " (files, threads, MiB)"
            )


class Violation(Exception):
    """Something that must hold does not."""


def _until(holds: Any, problem: str, shown: Any) -> None:
    ends = time.monotonic() + SETTLE_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise Violation(f"{problem}: {shown()}")
        time.sleep(0.3)
