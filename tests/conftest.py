"""Fixtures that any test may ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.runner import Stage

if TYPE_CHECKING:  # imported by pytest below, which then explains failed assertions in it
    from tests.support.sshd import NodeSet

pytest_plugins = ["tests.support.sshd"]


@pytest.fixture
def stage(tmp_path: Path, nodes: NodeSet) -> Stage:
    """The two shared nodes, with a scratch folder of the test's own on each."""
    scratch = tmp_path.name
    for node in nodes:
        (node.scratch / scratch).mkdir(exist_ok=True)
    return Stage(tmp_path, nodes.inventory(tmp_path, home="{{ scratch }}/" + scratch))
