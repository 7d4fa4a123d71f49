"""What tests of cloud modules share: one pretend AWS per process, made new for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("moto")

from playrunner.cloud import reconcile
from playrunner.sandbox.aws.api import process
from tests.support.aws import permissions
from tests.support.aws.module_stage import AwsStage
from tests.support.aws.sandbox import PretendAws


@pytest.fixture(scope="session")
def pretend_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendAws]:
    root = tmp_path_factory.mktemp("aws")
    yield PretendAws(root)
    process.down(root)


@pytest.fixture
def stage(
    pretend_aws: PretendAws,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[AwsStage]:
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))
    # Tests delete things by hand that an earlier run of theirs made, and go on at once.
    monkeypatch.setattr(reconcile, "LOST_SECONDS", 20.0 if "lag" in request.node.nodeid else 1.0)
    pretend_aws.control("POST", "reset")
    pretend_aws.delays(**{"*": 0.05})
    yield AwsStage(pretend_aws, tmp_path)
    permissions.check(pretend_aws.calls(lease=True))
