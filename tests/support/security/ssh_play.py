"""A play against hosts that need not exist."""

from __future__ import annotations

from pathlib import Path

from tests.support.runner import Outcome, Stage

PLAY = "- {hosts: all, gather_facts: false, tasks: [{name: who, command: 'true'}]}\n"


def play(
    folder: Path, inventory: str, playbook: str = PLAY, name: str = "hosts.yaml", **environment: str
) -> Outcome:
    file = folder / name
    file.write_text(inventory)
    return Stage(folder, file).play(playbook, as_json=False, **environment)
