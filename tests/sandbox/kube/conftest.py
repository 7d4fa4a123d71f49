"""Kubernetes APIs to test against: the pretend one, and a real one where its programs are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.kube.process import process, real
from tests.support.kube.client import Client
from tests.support.kube.moving import cluster, either, pretend_moving, real_moving  # noqa: F401
from tests.support.kube.operators_stage import operated, place  # noqa: F401


@pytest.fixture(scope="session")
def pretend_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("kube") / "sandbox"
    try:
        process.up(root, pretend=True)
        yield root
    finally:
        process.down(root)


@pytest.fixture(scope="session")
def real_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if real.assets() is None:
        pytest.skip(
            "no kube-apiserver and etcd in KUBEBUILDER_ASSETS or PATH; get them with: make"
            " kube-assets"
        )
    root = tmp_path_factory.mktemp("real") / "sandbox"
    try:
        process.up(root)
        yield root
    finally:
        process.down(root)


@pytest.fixture
def kube(pretend_root: Path) -> Client:
    """The pretend API, emptied."""
    client = Client(process.kubeconfig_file(pretend_root))
    client.ok("POST", "/_sandbox/reset", {})
    return client
