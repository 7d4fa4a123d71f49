"""What tests of Google Cloud modules share: one pretend Google Cloud per process, made new for each
test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip(
    "google.auth", reason='Google Cloud needs google-auth: pip install "playrunner[gcp]"'
)

from playrunner.sandbox.gcp import process
from tests.support.gcp import permissions
from tests.support.gcp.module_stage import GcpStage
from tests.support.gcp.sandbox import PretendGcp


@pytest.fixture(scope="session")
def pretend_gcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendGcp]:
    root = tmp_path_factory.mktemp("gcp")
    try:
        yield PretendGcp(root)
    finally:
        process.down(root)


@pytest.fixture
def stage(
    pretend_gcp: PretendGcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GcpStage]:
    """Every call must be on the page of permissions."""
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    pretend_gcp.control("POST", "reset")
    pretend_gcp.delays(**{"*": 0.05})
    yield GcpStage(pretend_gcp, tmp_path)
    permissions.check(pretend_gcp.calls())
