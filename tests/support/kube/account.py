"""A pretend AWS beside the cluster, for roles that have a half in each; imported by the tests that
need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.aws import permissions
from tests.support.aws.sandbox import PretendAws
from tests.support.kube.addon_stage import AddonStage


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PretendAws]:
    pytest.importorskip(
        "moto", reason='the pretend AWS needs moto: pip install "playrunner[sandbox]"'
    )
    from playrunner.sandbox.aws.api import process

    root = tmp_path_factory.mktemp("account")
    try:
        yield PretendAws(root)
    finally:
        process.down(root)


@pytest.fixture
def storage(stage: AddonStage, account: PretendAws) -> Iterator[AddonStage]:
    """The stage, with an empty account where nothing takes long; every call must be on the page of
    permissions."""
    account.control("POST", "reset")
    account.control("DELETE", "faults")
    account.delays(**{"*": 0.0})
    stage.variables |= {
        "aws_region": account.up.region,
        "aws_endpoint_url": account.up.endpoint_url,
        "aws_profile": "sandbox",
        "aws_credentials_file": str(account.root / "aws-credentials"),
    }
    yield stage
    permissions.check(account.calls())
