"""The real aws CLI and the real `invoke`, as a user types them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.sandbox import PretendAws

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 180


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


class Operator:
    """Somebody at a terminal, with inventories that lead to the pretend AWS."""

    def __init__(
        self,
        aws: PretendAws,
        home: Path,
        inventories: tuple[str, ...],
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.aws, self.home, self.patience = aws, home, patience
        self.flags = [word for name in inventories for word in ("--inventory", name)]
        self.environment = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(home / "state"),
            "KUBECONFIG": str(home / "kubeconfig"),
        }
        self.heard: list[str] = []  # everything that was printed

    def invoke(self, verb: str, *words: str) -> Said:
        command = [sys.executable, "-m", "invoke", verb, *self.flags, *words]
        ran = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=self.patience,
        )
        self.heard += [ran.stdout, ran.stderr]
        return Said(ran.returncode, ran.stdout, ran.stderr)

    def results(self, verb: str, *words: str) -> dict[str, str]:
        """The status of each step of a run that must succeed."""
        said = self.invoke(verb, "--json", *words)
        assert said.code == 0, said.out + said.err
        return {result["step"]: result["status"] for result in json.loads(said.out)["results"]}

    def aws_cli(self, *words: str) -> Any:
        """What the real aws CLI says, as JSON."""
        places = [
            str(Path(sys.executable).parent),
            str(ROOT / ".venv-aws" / "bin"),
            os.environ.get("PATH", ""),
        ]
        program = shutil.which("aws", path=os.pathsep.join(places))
        if program is None:
            pytest.skip("the aws CLI is not installed: make test-cloud installs it")
        environment = {**os.environ, **self.aws.up.environment(), "AWS_PAGER": ""}
        ran = subprocess.run(
            [program, *words, "--output", "json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)
