"""A place to launch runs from, and ways to look at what they did on the nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import runner
from tests.support.until import until

PATIENCE_SECONDS = 240  # a busy two-core machine imports for half a minute
QUICK = (
    "train.steps=12",
    "train.log.every=1",
    "train.checkpoint.every=4",
    "train.evaluate.batches=1",
)

# For runs that only have to go on: they leave the cores to what is tested.
PACE = "train.data.latency=0.2"

# For profiles whose own run is long.
SHORT = (
    "launch.processes_per_node=1",
    "train.steps=4",
    "train.epochs=0",
    "train.evaluate.every=0",
    "train.checkpoint.every=4",
    "train.log.every=1",
)


class Site:
    ends_failed = True  # a failure is what most tests want to see, not the start that follows it

    def __init__(self, state: Path, inventory: Path | None = None) -> None:
        self.state, self.inventory = state, inventory

    def invoke(self, *words: object, **environment: str) -> runner.Outcome:
        return runner.finish(self.start(*words, **environment), PATIENCE_SECONDS)

    def start(self, *words: object, **environment: str) -> subprocess.Popen[str]:
        """In a session of its own, so that killing it is like closing its terminal."""
        return runner.start(*words, state=self.state, **environment)

    def launch(
        self,
        name: str,
        *words: object,
        profile: str = "gpt2-micro-smoke",
        settings: tuple[str, ...] = QUICK,
    ) -> runner.Outcome:
        return runner.finish(
            self.begin(name, *words, profile=profile, settings=settings), PATIENCE_SECONDS
        )

    def begin(
        self,
        name: str,
        *words: object,
        profile: str = "gpt2-micro-smoke",
        settings: tuple[str, ...] = QUICK,
    ) -> subprocess.Popen[str]:
        given = " ".join(map(str, (profile, *settings, *words)))
        if self.ends_failed and not any(
            word in given for word in ("max_restarts", "min_nodes", "elastic")
        ):
            settings = ("launch.max_restarts=0", *settings)
        chosen = [part for setting in settings for part in ("--set", setting)]
        where = ["--inventory", self.inventory] if self.inventory else []
        return self.start(
            "train.launch", "--profile", profile, "--name", name, *where, *chosen, *words
        )

    @property
    def shared(self) -> Path:
        return self.state / "sandbox" / "shared"

    def logins(self, host: str) -> int:
        """How often the node was logged in to so far."""
        log = self.state / "sandbox" / "sshd" / host / "log"
        return log.read_text().count("Accepted publickey")

    def folder(self, name: str) -> Path:
        return self.shared / "runs" / name

    def losses(self, name: str) -> dict[int, float]:
        records = map(
            json.loads, (self.folder(name) / "output" / "metrics.jsonl").read_text().splitlines()
        )
        return {each["step"]: each["loss"] for each in records if "loss" in each}

    def supervisor(self, name: str, host: str) -> dict[str, Any]:
        path = self.folder(name) / "nodes" / host / "supervisor.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def processes(self, name: str) -> list[int]:
        """Every living process of a run, on whichever node."""
        run_id = json.loads((self.folder(name) / "run.json").read_text())["run_id"]
        return [
            pid
            for pid, environment in environments()
            if any(entry.startswith(f"PLAYRUNNER_RUN={run_id}/".encode()) for entry in environment)
        ]

    def rank(self, name: str, rank: int) -> int:
        """The process that trains as this rank."""
        ours = set(self.processes(name))
        return next(
            pid
            for pid, environment in environments()
            if pid in ours and f"RANK={rank}".encode() in environment
        )

    def await_step(
        self, name: str, step: int, process: subprocess.Popen[str] | None = None
    ) -> None:
        self.await_that(lambda: step in self._steps(name), f"step {step} of {name}", process)

    def await_that(
        self,
        holds: Callable[[], bool],
        what: str,
        process: subprocess.Popen[str] | None = None,
        seconds: float = PATIENCE_SECONDS,
    ) -> None:
        until(holds, seconds=seconds, what=what, process=process)

    def power_off(self, host: str) -> None:
        """Everything on a node is gone at once, its sshd included."""
        mark = f"PLAYRUNNER_SANDBOX_NODE={self.state / 'sandbox'}/{host}".encode()
        daemon = int((self.state / "sandbox" / "sshd" / host / "pid").read_text())
        for pid in [daemon, *(pid for pid, environment in environments() if mark in environment)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _steps(self, name: str) -> set[int]:
        try:
            return set(self.losses(name))
        except (OSError, ValueError):
            return set()


def environments() -> list[tuple[int, list[bytes]]]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z":
                found.append((int(folder.name), (folder / "environ").read_bytes().split(b"\0")))
        except OSError:
            continue
    return found
