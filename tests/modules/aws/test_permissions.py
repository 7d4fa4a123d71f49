"""docs/aws-permissions.md: everything the code calls, nothing that is no action, and no way to more
than a cluster's own things."""

from __future__ import annotations

import os

import pytest

from tests.support.aws import permissions, permissions_derived
from tests.support.aws.permissions_simulator import allowed

OURS = {"aws:ResourceTag/playrunner:cluster": "demo"}
NEW = {"aws:RequestTag/playrunner:cluster": "demo"}
ROLE = "arn:aws:iam::1234:role/demo-node"


@pytest.fixture
def documents() -> list[dict[str, object]]:
    return list(permissions.policies("demo", "1234", "demo-data").values())


def test_the_page_has_the_policies_that_the_code_needs() -> None:
    if os.environ.get("PLAYRUNNER_WRITE_DOCS"):
        permissions.PAGE.write_text(permissions.page())
    assert permissions.PAGE.read_text() == permissions.page(), (
        "PLAYRUNNER_WRITE_DOCS=1 writes the page"
    )


def test_calls_that_no_test_makes_are_among_them() -> None:
    needed = permissions_derived.needed()
    assert needed >= {
        "ec2:GetConsoleOutput",
        "ec2:DeleteNetworkInterface",
        "ec2:ReplaceRoute",
        "ec2:RevokeSecurityGroupEgress",
        "elasticloadbalancing:DeleteLoadBalancer",
        "iam:UpdateAssumeRolePolicy",
        "ecr:GetAuthorizationToken",
        "ecr:BatchDeleteImage",
        "s3:DeleteObjectVersion",
        "s3:ListBucketMultipartUploads",
        "servicequotas:GetAWSDefaultServiceQuota",
        "ec2:CreateNetworkInterface",
    }
    assert not needed & {"s3:ListMultipartUploads", "iam:AWSServiceName"}


@pytest.mark.parametrize("name", permissions.policies())
def test_each_policy_is_small_enough_for_aws(name: str) -> None:
    long_names = permissions.policies("c" * 63, "1" * 12, "b" * 63)[name]
    assert permissions.characters(long_names) <= permissions.MOST_CHARACTERS


def test_every_permission_is_allowed_where_it_is_needed(documents: list[dict[str, object]]) -> None:
    assert not [name for name in permissions_derived.needed() if not allowed(documents, name, "*")]


def test_things_of_others_cannot_be_changed(documents: list[dict[str, object]]) -> None:
    for action in (
        "ec2:DeleteVpc",
        "ec2:TerminateInstances",
        "eks:DeleteCluster",
        "ec2:CreateTags",
    ):
        assert allowed(documents, action, "*", OURS)
        assert not allowed(documents, action, "*", {})
        assert not allowed(documents, action, "*", {**OURS, next(iter(OURS)): "demo2"})
    assert allowed(documents, "ec2:CreateTags", "*", {"ec2:CreateAction": "CreateVpc"})
    assert not allowed(documents, "s3:DeleteObject", "arn:aws:s3:::theirs/model", {})
    lease = "arn:aws:ssm:us-west-2:1234:parameter/playrunner/{}/lease"
    assert allowed(documents, "ssm:PutParameter", lease.format("demo"), {})
    assert not allowed(documents, "ssm:PutParameter", lease.format("demo2"), {})


def test_nobody_becomes_an_administrator_by_it(documents: list[dict[str, object]]) -> None:
    assert allowed(documents, "iam:CreateRole", ROLE, NEW)
    assert not allowed(documents, "iam:CreateRole", ROLE, {})
    assert not allowed(documents, "iam:CreateRole", "arn:aws:iam::1234:role/demo2-node", NEW)
    node = {"iam:PolicyARN": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"}
    admin = {"iam:PolicyARN": "arn:aws:iam::aws:policy/AdministratorAccess"}
    assert allowed(documents, "iam:AttachRolePolicy", ROLE, {**OURS, **node})
    assert not allowed(documents, "iam:AttachRolePolicy", ROLE, {**OURS, **admin})
    assert not allowed(documents, "iam:AttachRolePolicy", ROLE, node), "a role without our tag"
    assert allowed(documents, "iam:PassRole", ROLE, {"iam:PassedToService": "eks.amazonaws.com"})
    assert not allowed(
        documents, "iam:PassRole", ROLE, {"iam:PassedToService": "lambda.amazonaws.com"}
    )


def test_the_simulator_denies_what_a_statement_denies() -> None:
    document = {
        "Statement": [
            {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"},
            {"Effect": "Deny", "Action": ["ec2:DeleteVpc"], "Resource": "*"},
        ]
    }
    assert allowed([document], "ec2:CreateVpc") and not allowed([document], "ec2:DeleteVpc")
