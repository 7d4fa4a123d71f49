"""An API server of a test module's own: the sandbox's, or with PLAYRUNNER_TEST_KUBE=real a real
kube-apiserver where its programs are found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from playrunner.sandbox.kube.process import process
from tests.support.kube.module_stage import Api


@contextmanager
def api_server(root: Path, *, moving: bool = False) -> Iterator[Api]:
    """`moving`: with controllers, and nodes that run pods."""
    real = os.environ.get("PLAYRUNNER_TEST_KUBE") == "real"
    try:
        up = process.up(root, pretend=not real, moving=moving)
        if real and up.flavour != "real":
            pytest.skip("there is no kube-apiserver; see KUBEBUILDER_ASSETS")
        yield Api(Path(up.kubeconfig), up.flavour)
    finally:
        process.down(root)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        yield server
