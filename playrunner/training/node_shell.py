"""Programs of the staged code as command lines for a node's shell."""

from __future__ import annotations

import shlex
from typing import Any


def node_command(
    job: dict[str, Any], node: dict[str, Any], module: str, arguments: list[str]
) -> str:
    """A program of the staged code, for a node's shell."""
    words = [node["python"], "-m", module, *arguments]
    return (
        f"PYTHONPATH={in_shell(job['codes'][node['host']])} exec {' '.join(map(in_shell, words))}"
    )


def in_shell(word: str) -> str:
    """A word for the shell, its ~ still meaning the login's home."""
    return f"~/{shlex.quote(word[2:])}" if word.startswith("~/") else shlex.quote(word)
