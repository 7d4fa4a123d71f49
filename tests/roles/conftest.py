"""What tests of cloud roles share: a pretend AWS, an inventory that leads there, and a process that
plays roles in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.aws.sandbox import PretendAws

CLUSTER = "drill"


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
def aws(account: PretendAws) -> PretendAws:
    """An empty account where nothing takes time."""
    account.empty()
    return account


@pytest.fixture
def inventory(aws: PretendAws, tmp_path: Path) -> Path:
    """An inventory that leads to the pretend AWS; those of `inventories/` are put before it."""
    variables: dict[str, Any] = {
        "cluster_name": CLUSTER,
        "aws_region": aws.up.region,
        "aws_endpoint_url": aws.up.endpoint_url,
        "aws_profile": "sandbox",
        "aws_credentials_file": str(aws.root / "aws-credentials"),
        "eks_kubeconfig_path": str(tmp_path / "kubeconfig"),
        "kube_context": "",
    }  # no API stands behind these clusters
    file = tmp_path / "account.yaml"
    file.write_text(yaml.safe_dump({"all": {"vars": variables}}))
    return file
