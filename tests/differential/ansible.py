"""Which Ansible the suite runs: ansible-playbook beside this Python, or the one PLAYRUNNER_ANSIBLE
names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path


def program() -> Path:
    """ansible-playbook; the one of the package `ansible` also has the collections that some cases
    need."""
    return Path(
        os.environ.get("PLAYRUNNER_ANSIBLE") or Path(sys.executable).parent / "ansible-playbook"
    )


@cache
def core_version() -> str:
    found = re.search(r"\[core ([^\]]+)\]", _said(program(), "--version"))
    assert found, f"{program()} does not tell its version"
    return found[1]


@cache
def has_collection(name: str) -> bool:
    return name in _said(program().with_name("ansible-galaxy"), "collection", "list", name)


def _said(command: Path, *words: str) -> str:
    return subprocess.run(
        [str(command), *words], capture_output=True, text=True, timeout=300, check=False
    ).stdout
