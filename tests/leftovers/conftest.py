"""The pretend AWS, and our own client of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from playrunner.aws.client import Account, Aws, AwsSettings
from tests.sandbox.conftest import aws, aws_server  # noqa: F401
from tests.support.aws.sandbox import PretendAws

# A second of waiting takes a hundredth: life cycles here are that much shorter than the real ones
HASTE = 100


@pytest.fixture(scope="session")
def account(aws_server: PretendAws) -> Account:
    """One for all tests: boto3 takes a second to make its clients."""
    return Account(
        AwsSettings(
            **{name.removeprefix("aws_"): value for name, value in variables_of(aws_server).items()}
        )
    )


@pytest.fixture
def client(aws: PretendAws, account: Account) -> Aws:
    return Aws(account)


@pytest.fixture
def sleep() -> Callable[[float], None]:
    return lambda seconds: time.sleep(seconds / HASTE)


def variables_of(aws: PretendAws) -> dict[str, str]:
    """What an inventory says to come there."""
    return {
        "aws_region": aws.up.region,
        "aws_profile": "sandbox",
        "aws_endpoint_url": aws.up.endpoint_url,
        "aws_credentials_file": str(aws.root / "aws-credentials"),
    }
