"""Fixtures that any test may ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.runner import Stage

if TYPE_CHECKING:  # imported by pytest below, which then explains failed assertions in it
    from tests.support.sshd import NodeSet

pytest_plugins = ["tests.support.sshd"]

# How long an example takes is up to the machine and what else runs on it
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")


@pytest.fixture
def stage(tmp_path: Path, nodes: NodeSet) -> Stage:
    """The two shared nodes, with a scratch folder of the test's own on each."""
    scratch = tmp_path.name
    for node in nodes:
        (node.scratch / scratch).mkdir(exist_ok=True)
    return Stage(tmp_path, nodes.inventory(tmp_path, home="{{ scratch }}/" + scratch))
