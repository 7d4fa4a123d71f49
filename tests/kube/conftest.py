"""What tests of roles in a cluster share: one moving cluster per process, and a stage for each
test.

The API server is the sandbox's own; PLAYRUNNER_TEST_KUBE=real takes a real kube-apiserver where its
programs are found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kube.addon_stage import ROOT, AddonStage
from tests.support.kube.api_server import api_server
from tests.support.kube.module_stage import Api


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api_server(tmp_path_factory.mktemp("cluster"), moving=True) as server:
        yield server


@pytest.fixture
def stage(cluster: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddonStage]:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(ROOT)
    made = AddonStage(cluster, tmp_path, f"t{secrets.token_hex(4)}")
    try:
        yield made
    finally:
        made.clean_up()


@pytest.fixture
def pretend(cluster: Api) -> None:
    """Only where faults of the API can be ordered."""
    if cluster.flavour == "real":
        pytest.skip("a real API server takes no orders")
