"""A pretend Google Cloud for tests of its roles, with or without a cluster behind it, and an
inventory that leads there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from playrunner.sandbox.gcp import process
from playrunner.sandbox.kube.process import process as kube_process
from tests.support.gcp import permissions
from tests.support.gcp.module_stage import variables_of
from tests.support.gcp.sandbox import PretendGcp

CLUSTER = "drill"
NO_KUBERNETES = {"kube_context": "", "gke_install_driver": False}


@pytest.fixture(scope="session")
def gcp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendGcp]:
    """Without Kubernetes: nothing listens behind its clusters."""
    root = tmp_path_factory.mktemp("project")
    try:
        yield PretendGcp(root)
    finally:
        process.down(root)


@pytest.fixture
def gcp(gcp_server: PretendGcp) -> Iterator[PretendGcp]:
    """An empty project where nothing takes time; every call must be on the page of permissions."""
    gcp_server.control("POST", "reset")
    gcp_server.delays(**{"*": 0.0})
    yield gcp_server
    permissions.check(gcp_server.calls())


@pytest.fixture
def gcp_inventory(gcp: PretendGcp, tmp_path: Path) -> Path:
    return written(gcp, tmp_path, **NO_KUBERNETES)


@pytest.fixture(scope="module")
def moving_gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendGcp]:
    """With a Kubernetes API whose nodes are those of its pools."""
    root = tmp_path_factory.mktemp("moving") / "sandbox"
    try:
        gcp = PretendGcp(root)
        gcp.delays(**{"*": 0.05})
        kube_process.up(root, pretend=True, moving=True)
        yield gcp
        permissions.check(gcp.calls())
    finally:
        kube_process.down(root)
        process.down(root)


def written(gcp: PretendGcp, folder: Path, **more: Any) -> Path:
    """An inventory that leads to the pretend Google Cloud; those of `inventories/` are put before
    it."""
    variables = {
        **variables_of(gcp),
        "cluster_name": CLUSTER,
        "gke_kubeconfig_path": str(folder / "kubeconfig"),
        **more,
    }
    file = folder / "project.yaml"
    file.write_text(yaml.safe_dump({"all": {"vars": variables}}))
    return file
