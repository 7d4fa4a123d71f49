"""Faults on demand: each strikes the requests it names, and boto3 meets it as it would the real
one."""

from __future__ import annotations

import time
from typing import Any

import pytest

from playrunner.sandbox.faults import BadFault, Fault, Faults
from tests.support.aws.sandbox import PretendAws, refused


def names(aws: PretendAws) -> list[str]:
    return [role["RoleName"] for role in aws.client("iam").list_roles()["Roles"]]


def test_a_lost_answer_was_applied(aws: PretendAws) -> None:
    aws.fault("lost", service="iam", action="CreateRole", nth=1)
    # boto3 sends it again, and finds what its first request had made.
    assert refused(lambda: aws.role("twice", "ec2.amazonaws.com")) == "EntityAlreadyExists"
    assert names(aws) == ["twice"]
    assert [call["fault"] for call in aws.calls("CreateRole")] == ["lost", None]


def test_a_lost_answer_with_a_token_is_harmless(aws: PretendAws) -> None:
    _, subnets = aws.network()
    aws.fault("lost", action="RunInstances", nth=1)
    wish = {
        "ImageId": "ami-0a1000000000000a1",
        "InstanceType": "t3.micro",
        "MinCount": 1,
        "MaxCount": 1,
        "SubnetId": subnets[0],
    }
    made = aws.client("ec2").run_instances(**wish)["Instances"][0]["InstanceId"]
    assert [one["InstanceId"] for one in aws.instances()] == [made]


def test_a_reset_was_not_applied(aws: PretendAws) -> None:
    aws.fault("reset", service="iam", action="CreateRole", nth=1)
    aws.role("once", "ec2.amazonaws.com")
    assert [call["fault"] for call in aws.calls("CreateRole")] == ["reset", None]


def test_without_retries_a_reset_is_seen(aws: PretendAws) -> None:
    from botocore.exceptions import ConnectionClosedError

    aws.fault("reset", times=1)
    with pytest.raises(ConnectionClosedError):
        aws.client("iam", retry=False).list_roles()


def test_a_timeout_keeps_silent(aws: PretendAws) -> None:
    from botocore.exceptions import ReadTimeoutError

    aws.fault("timeout", action="ListRoles", seconds=30)
    began = time.monotonic()
    with pytest.raises(ReadTimeoutError):
        aws.client("iam", retry=False).list_roles()
    assert 1.5 < time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("kind", "more", "code"),
    [
        ("throttle", {}, "ThrottlingException"),
        ("error", {"status": 500}, "InternalFailure"),
        ("error", {"status": 502}, "502"),
        ("deny", {}, "AccessDeniedException"),
    ],
)
def test_refusals_come_in_the_services_own_words(
    aws: PretendAws, kind: str, more: dict[str, Any], code: str
) -> None:
    aws.fault(kind, service="eks", **more)
    assert refused(lambda: aws.client("eks", retry=False).list_clusters()) == code
    aws.client("iam").list_roles()


def test_throttling_at_a_rate_is_ridden_out_by_retries(aws: PretendAws) -> None:
    aws.fault("throttle", service="ec2", probability=0.3, seed=7)
    for _ in range(4):
        aws.client("ec2").describe_vpcs()
    struck = [call["fault"] for call in aws.calls("DescribeVpcs")]
    assert struck.count(None) == 4
    assert "throttle" in struck


def test_a_throttled_look_at_a_bucket_is_repeated_though_it_has_no_body_to_say_why(
    aws: PretendAws,
) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(
        Bucket="looked-at", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    aws.fault("throttle", service="s3", action="HeadBucket", times=1)
    s3.head_bucket(Bucket="looked-at")
    assert [call["fault"] for call in aws.calls("HeadBucket")] == ["throttle", None]


def test_calls_are_listed_with_the_permission_they_need(aws: PretendAws) -> None:
    aws.client("efs").describe_file_systems()
    aws.network(("us-west-2a",))
    aws.client("s3").list_buckets()
    found = [(call["permission"], call["mutating"]) for call in aws.calls()]
    assert found == [
        ("elasticfilesystem:DescribeFileSystems", False),
        ("ec2:CreateVpc", True),
        ("ec2:CreateSubnet", True),
        ("s3:ListAllMyBuckets", False),
    ]


def test_the_nth_change_of_any_kind_can_be_struck(aws: PretendAws) -> None:
    aws.fault("reset", mutating=True, nth=2)
    aws.network(("us-west-2a",))
    assert [call["fault"] for call in aws.calls("CreateSubnet")] == ["reset", None]


def test_a_reset_world_is_empty(aws: PretendAws) -> None:
    aws.role("somebody", "ec2.amazonaws.com")
    aws.fault("throttle")
    aws.control("POST", "reset")
    assert (names(aws), aws.control("GET", "faults")) == ([], [])


def test_unknown_calls_say_so(aws: PretendAws) -> None:
    assert (
        refused(lambda: aws.client("ec2").describe_reserved_instances_listings())
        == "NotImplemented"
    )
    assert refused(lambda: aws.client("eks").list_insights(clusterName="demo")) == "NotImplemented"
    assert refused(lambda: aws.client("cloudformation").list_stacks()) == "NotImplemented"
    assert len(aws.calls()) == 3  # and nobody tried again


def test_a_fault_that_makes_no_sense_is_refused() -> None:
    for wish in (
        {},
        {"kind": "earthquake"},
        {"kind": "lost", "nth": 0},
        {"kind": "lost", "probability": 2},
        {"kind": "lost", "wen": 1},
    ):
        with pytest.raises(BadFault):
            Faults().add([wish])


def test_a_seed_makes_chance_repeatable() -> None:
    def drawn() -> list[bool]:
        fault = Fault("throttle", probability=0.2, seed=3)
        return [fault.strikes("ec2", "DescribeVpcs", False) for _ in range(50)]

    assert drawn() == drawn()
    assert 2 < sum(drawn()) < 25
