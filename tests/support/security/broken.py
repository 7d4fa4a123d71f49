"""A program run in a shell, where something of the machine is missing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.runner import LIMIT_SECONDS, REPOSITORY, Outcome

INVOKE = f"{shlex.quote(sys.executable)} -m invoke"


PLAYBOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: first, command: echo one}
    - {name: second, command: touch DONE}
"""


class Here:
    """A playbook and an inventory of this machine alone."""

    def __init__(self, folder: Path, hosts: int = 1) -> None:
        self.folder, self.state, self.done = folder, folder / "state", folder / "done"
        (folder / "hosts.ini").write_text(
            "".join(f"h{number} ansible_connection=local\n" for number in range(hosts))
        )
        self.write(PLAYBOOK.replace("DONE", str(self.done)))
        self.play = f"{INVOKE} play {folder}/play.yaml --inventory {folder}/hosts.ini"

    def write(self, playbook: str) -> None:
        (self.folder / "play.yaml").write_text(playbook)

    def shell(self, line: str, **environment: str) -> Outcome:
        """What a user types into a shell; bash, whose exit status is that of the last command."""
        told = {
            **os.environ,
            "PLAYRUNNER_STATE_HOME": str(self.state),
            "NO_COLOR": "1",
            **environment,
        }
        ended = subprocess.run(
            ["bash", "-c", line],
            cwd=REPOSITORY,
            env=told,
            text=True,
            capture_output=True,
            check=False,
            timeout=LIMIT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def on_a_disk(self, line: str, options: str = "size=64k") -> Outcome:
        """The same with a small disk of its own as the folder `disk`."""
        (self.folder / "disk").mkdir(exist_ok=True)
        mounted = f"mount -t tmpfs -o {options} none {self.folder}/disk && {line}"
        return self.shell(
            f"unshare -m bash -c {shlex.quote(mounted)}",
            PLAYRUNNER_STATE_HOME=f"{self.folder}/disk/state",
        )


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def is_one_line(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1
