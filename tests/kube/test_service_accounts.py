"""service_accounts: pods that name one work with its role in the AWS account."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.aws.sandbox import PretendAws
from tests.support.kube.account import account, storage  # noqa: F401
from tests.support.kube.addon_stage import AddonStage

NAME = "writes-models"
ROLE = "eks.amazonaws.com/role-arn"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "ec2.amazonaws.com"},
        }
    ],
}


@pytest.fixture
def role(storage: AddonStage, account: PretendAws) -> Iterator[str]:
    """The ARN of the role that eks.create would have made."""
    iam, name = account.client("iam"), f"{storage.own}-{NAME}"
    iam.list_roles()  # the first question to IAM takes long, and boto3 would ask it again
    made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))
    yield str(made["Role"]["Arn"])
    iam.delete_role(RoleName=name)


def test_an_account_comes_once_with_its_role_and_goes_without_a_trace(
    storage: AddonStage,
    role: str,
) -> None:
    wanted = {"eks_service_accounts": [{"name": NAME, "statements": []}]}
    foreseen = storage.create("service_accounts", check=True, **wanted)
    assert foreseen.code == 0 and "changed" in foreseen.statuses.values(), foreseen.messages
    assert storage.object("v1", "serviceaccounts", NAME, "default") is None
    made = storage.create("service_accounts", **wanted)
    assert made.code == 0, made.messages
    found = storage.object("v1", "serviceaccounts", NAME, "default")
    assert found["metadata"]["annotations"][ROLE] == role
    again = storage.create("service_accounts", **wanted)
    assert again.code == 0 and again.changed == [], again.statuses
    gone = storage.delete("service_accounts", **wanted)
    assert gone.code == 0, gone.data
    assert storage.object("v1", "serviceaccounts", NAME, "default") is None


def test_one_without_a_role_is_refused_with_the_command_that_makes_it(
    storage: AddonStage,
) -> None:
    wanted = {"eks_service_accounts": [{"name": NAME}]}
    refused = storage.create("service_accounts", **wanted)
    assert refused.code == 2
    assert f'no role "{storage.own}-{NAME}"' in refused.messages, refused.messages
    assert "eks.create" in refused.messages
    assert storage.delete("service_accounts", **wanted).code == 0, "nothing is there to delete"


def test_one_that_others_made_is_used_as_it_is(
    storage: AddonStage,
    role: str,
) -> None:
    home = "/api/v1/namespaces/default/serviceaccounts"
    theirs = {"metadata": {"name": NAME, "annotations": {ROLE: "arn:aws:iam::1:role/theirs"}}}
    storage.api.call("POST", home, theirs)
    try:
        wanted = {"eks_service_accounts": [{"name": NAME}]}
        assert storage.create("service_accounts", **wanted).code == 0
        assert storage.delete("service_accounts", **wanted).code == 0
        kept = storage.object("v1", "serviceaccounts", NAME, "default")
        assert kept["metadata"]["annotations"][ROLE].endswith("theirs") and role
    finally:
        storage.api.call("DELETE", f"{home}/{NAME}")
