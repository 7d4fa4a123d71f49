"""Nodes of a test's own, to be broken."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from playrunner.sandbox import nodes as sandbox_nodes
from tests.support.runner import Stage
from tests.support.sshd import NodeSet

Nodes = Callable[[int], NodeSet]


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def own(tmp_path: Path, make_nodes: Nodes) -> tuple[NodeSet, Stage]:
    nodes = make_nodes(2)
    return nodes, Stage(tmp_path, nodes.inventory(tmp_path))


def cut_sessions(nodes: NodeSet, name: str) -> None:
    """End the server's processes for everyone who is logged in to a node; the server itself goes
    on."""
    listener = next(node.pid for node in sandbox_nodes.status(nodes.root) if node.name == name)
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True
    ).stdout
    cut = [
        int(line.split()[0]) for line in listed.splitlines()[1:] if int(line.split()[1]) == listener
    ]
    assert cut, "nobody is logged in"
    for pid in cut:
        with suppress(ProcessLookupError):  # one that was just ending
            os.kill(pid, signal.SIGKILL)
