"""A stage with a host whose answers are chosen by an attacker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runner import Outcome, Stage
from tests.support.sshd import NodeSet


class Victim(Stage):
    """A stage with a file that only a command run for a host's sake would make."""

    def __init__(self, folder: Path, nodes: NodeSet, interpreter: str = "") -> None:
        variables = {"ansible_python_interpreter": interpreter} if interpreter else {}
        super().__init__(folder, nodes.inventory(folder, **variables))
        self.canary = folder / "canary"

    @property
    def command(self) -> str:
        return f"touch {self.canary}"

    @property
    def template(self) -> str:
        return "{{ lookup('pipe', 'COMMAND') }}".replace("COMMAND", self.command)

    def safe(self, outcome: Outcome, code: int = 0) -> Outcome:
        assert not self.canary.exists(), outcome.text
        assert outcome.code == code, outcome.text
        assert "Traceback" not in outcome.text
        return outcome

    def said(self, text: str) -> str:
        """A command line that makes the host print this text, which stands in a file of its own."""
        file = self.folder / f"said-{abs(hash(text))}"
        file.write_text(text)
        return f"cat {file}"


@pytest.fixture
def victim(tmp_path: Path, nodes: NodeSet) -> Victim:
    return Victim(tmp_path, nodes)
