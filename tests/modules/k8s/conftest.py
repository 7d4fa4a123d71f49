"""What tests of Kubernetes modules share: one API server per process, and a namespace for each
test.

The server is the sandbox's own; PLAYRUNNER_TEST_KUBE=real takes a real kube-apiserver where its
programs are found.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from playrunner.sandbox.kube.process import process
from tests.support.kube.module_stage import Api, KubeStage


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    root = tmp_path_factory.mktemp("kube")
    real = os.environ.get("PLAYRUNNER_TEST_KUBE") == "real"
    up = process.up(root, pretend=not real)
    if real and up.flavour != "real":
        pytest.skip("there is no kube-apiserver; see KUBEBUILDER_ASSETS")
    yield Api(Path(up.kubeconfig), up.flavour)
    process.down(root)


@pytest.fixture
def stage(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KubeStage:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    own = f"t{secrets.token_hex(4)}"
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": own}})
    return KubeStage(api, tmp_path, own)


@pytest.fixture
def pretend(api: Api) -> None:
    """Only where faults can be ordered."""
    if api.flavour == "real":
        pytest.skip("a real API server takes no orders")
