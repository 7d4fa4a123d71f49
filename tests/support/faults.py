"""Nodes of a test's own, to be broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runner import Stage
from tests.support.sshd import NodeSet

Nodes = Callable[[int], NodeSet]


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def own(tmp_path: Path, make_nodes: Nodes) -> tuple[NodeSet, Stage]:
    nodes = make_nodes(2)
    return nodes, Stage(tmp_path, nodes.inventory(tmp_path))
