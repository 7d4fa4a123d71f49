"""A pretend cloud as a background process: started in the sandbox's folder, found there again, and
asked whether it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from playrunner.sandbox import state
from playrunner.sandbox.http import control_client, control_secret
from playrunner.sandbox.state import SandboxError

START_SECONDS = 60.0  # loading moto takes 2-4 s, more on a busy machine


@dataclass(frozen=True)
class Background:
    """One server of a sandbox: `python -m MODULE --port N --port-file ROOT/NAME/port`."""

    root: Path
    name: str  # of its folder
    module: str
    title: str  # in messages: the pretend AWS

    @property
    def folder(self) -> Path:
        return self.root / self.name

    @property
    def port_file(self) -> Path:
        return self.folder / "port"

    def start(self, port: str = "0") -> tuple[int, str]:
        """Start it and wait until it answers: its process and its address."""
        self.port_file.unlink(missing_ok=True)
        control_secret.make(self.folder)
        command = [
            sys.executable,
            "-m",
            self.module,
            "--port",
            port,
            "--port-file",
            str(self.port_file),
        ]
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                start_new_session=True,
                cwd=self.root,
            )
        state.await_that(
            lambda: self.port_file.exists() or process.poll() is not None, START_SECONDS
        )
        if not self.port_file.exists():
            raise SandboxError(f"{self.title} did not start; see {self.folder / 'log'}")
        endpoint = f"http://127.0.0.1:{self.port_file.read_text().strip()}"
        if not state.await_that(lambda: self.answers(endpoint), START_SECONDS):
            raise SandboxError(
                f"{self.title} does not answer at {endpoint}; see {self.folder / 'log'}"
            )
        return process.pid, endpoint

    def processes(self) -> set[int]:
        """Only our own: the server that writes into this folder."""
        mark, file = f"-m {self.module} ", str(self.port_file)
        return {
            pid
            for pid, command in state.commands().items()
            if mark in command and command.endswith(file)
        }

    def answers(self, endpoint: str) -> bool:
        return control_client.ask_at(endpoint, self.folder, "health") is not None

    def end(self) -> None:
        state.end(self.processes())


def environment() -> dict[str, str]:
    """Ours, with this package to be found wherever the process stands."""
    parent = str(Path(__file__).parents[3])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [parent, os.environ.get("PYTHONPATH")])),
    }
