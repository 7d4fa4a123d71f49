"""Runs playbooks the way a user does: the `invoke` program in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
LIMIT_SECONDS = 90


@dataclass(frozen=True)
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def text(self) -> str:
        return self.out + self.err

    def counts(self, host: str) -> dict[str, int]:
        counts: dict[str, int] = self.data["recap"][host]
        return counts

    def result(self, host: str, step: str) -> dict[str, Any]:
        return next(
            found
            for found in self.data["results"]
            if found["host"] == host and found["step"] == step
        )


def start(*words: object, state: Path, **environment: str) -> subprocess.Popen[str]:
    """`invoke WORDS` in the background, with a state directory of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "invoke", *map(str, words)],
        cwd=REPOSITORY,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        umask=0o022,
        preexec_fn=_hear_interrupts,
        env={**os.environ, "PLAYRUNNER_STATE_HOME": str(state), "NO_COLOR": "1", **environment},
    )


def _hear_interrupts() -> None:
    """Tests that run in the background of a shell inherit deafness to Ctrl-C, which a user at a
    terminal does not have."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process: subprocess.Popen[str], seconds: float = LIMIT_SECONDS) -> Outcome:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"still running after {seconds} seconds:\n{out}\n{err}") from None
    return Outcome(process.returncode, out, err)


def invoke(*words: object, state: Path, **environment: str) -> Outcome:
    return finish(start(*words, state=state, **environment))


class Stage:
    """A folder for playbooks, an inventory, and a state directory."""

    def __init__(self, folder: Path, inventory: Path) -> None:
        self.folder, self.inventory, self.state = folder, inventory, folder / "state"

    def write(self, playbook: str, name: str = "play.yaml") -> Path:
        path = self.folder / name
        path.write_text(playbook)
        return path

    def play(
        self, playbook: str, *words: object, as_json: bool = True, **environment: str
    ) -> Outcome:
        return finish(self.start(playbook, *words, as_json=as_json, **environment))

    def start(
        self, playbook: str, *words: object, as_json: bool = True, **environment: str
    ) -> subprocess.Popen[str]:
        path = self.write(playbook)
        wanted = [*words, "--json"] if as_json else list(words)
        return start(
            "play", path, "--inventory", self.inventory, *wanted, state=self.state, **environment
        )

    def invoke(self, *words: object, **environment: str) -> Outcome:
        return invoke(*words, state=self.state, **environment)


def beside(stage: Stage, name: str, text: str) -> Path:
    """A file beside the stage's playbook."""
    path = stage.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
