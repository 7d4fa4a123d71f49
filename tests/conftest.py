"""Fixtures that any test may ask for."""

from __future__ import annotations

import os
import subprocess
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


def pytest_report_header() -> str:
    """Which API server tests of Kubernetes run against."""
    from playrunner.sandbox.kube.process import real

    assets = real.assets() if os.environ.get("PLAYRUNNER_TEST_KUBE") == "real" else None
    if not assets:
        return "kubernetes: the sandbox's own API, which follows 1.33"
    ran = subprocess.run([assets.apiserver, "--version"], capture_output=True, text=True)
    return f"kubernetes: a real kube-apiserver, {ran.stdout.strip()} ({assets.apiserver})"


@pytest.fixture
def stage(tmp_path: Path, nodes: NodeSet) -> Stage:
    """The two shared nodes, with a scratch folder of the test's own on each."""
    scratch = tmp_path.name
    for node in nodes:
        (node.scratch / scratch).mkdir(exist_ok=True)
    return Stage(tmp_path, nodes.inventory(tmp_path, home="{{ scratch }}/" + scratch))
