"""Removing: in order, until each is gone; what cannot go is named with the reason, and nothing of
others is touched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from playrunner.aws.client import Aws
from playrunner.leftovers import find, remove, sweep
from tests.support.aws.leftovers_listing import listing, settle
from tests.support.aws.leftovers_world import Builder, neighbours
from tests.support.aws.sandbox import PretendAws
from tests.support.until import until

Sleep = Callable[[float], None]


def quiet(text: str) -> None:
    return None


def test_a_whole_stack_goes_and_the_neighbours_stay_as_they_are(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    neighbours(aws)
    settle(aws)
    before = listing(aws)
    Builder(aws, "demo").everything()
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []
    assert listing(aws) == before


@pytest.mark.parametrize("steps", range(1, len(Builder.STEPS)))
def test_a_stack_goes_from_any_partial_state(
    aws: PretendAws, client: Aws, sleep: Sleep, steps: int
) -> None:
    before = listing(aws)
    stack = Builder(aws, "demo")
    for step in Builder.STEPS[:steps]:
        getattr(stack, step)()
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []
    assert listing(aws) == before


def test_one_removal_of_what_was_found_is_enough_and_another_finds_it_gone(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    Builder(aws, "demo").everything()
    found = find(client, "demo")
    assert remove(client, found, sleep, quiet) == []
    assert find(client, "demo") == []
    aws.control("DELETE", "calls")
    assert remove(client, found, sleep, quiet) == []
    assert not [call for call in aws.calls() if call["mutating"]]


def test_what_is_still_being_made_is_waited_for(aws: PretendAws, client: Aws, sleep: Sleep) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    aws.cluster(stack.subnets, "demo", tags=stack.tags)
    aws.delays(eks__nodegroup__create=0.6)
    aws.nodegroup("demo", stack.subnets, wait=False, tags=stack.tags)
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []


def test_interfaces_that_outlive_their_load_balancer_are_waited_for(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    stack.made_by_the_cluster()
    aws.delays(elb__interface__linger=1.5)
    said: list[str] = []
    assert sweep(client, "demo", sleep, said.append, with_kept=True) == []
    assert any(
        text.startswith("waiting: network interface") and "held by ELB" in text for text in said
    )


def test_what_may_not_be_removed_is_named_with_the_reason_and_the_cost(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    aws.fault("deny", service="ec2", action="DeleteNatGateway")
    left = {one.kind: one for one in sweep(client, "demo", sleep, quiet, with_kept=True)}
    gateway = left["NAT gateway"]
    assert gateway.id == stack.nat
    assert gateway.monthly_dollars == pytest.approx(32.85)
    assert "delete_nat_gateway" in gateway.why and "docs/aws-permissions.md" in gateway.why
    assert set(left) == {
        "NAT gateway",
        "elastic IP",
        "network interface",
        "internet gateway",
        "subnet",
        "VPC",
    }
    assert f"NAT Gateway {stack.nat}" in left["subnet"].why


def test_a_group_that_others_name_is_left_and_theirs_stays(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    other, ec2 = Builder(aws, "", "theirs"), aws.client("ec2")
    other.network()
    stack = Builder(aws, "demo")
    stack.vpc = other.vpc
    stack.groups()
    theirs = ec2.create_security_group(GroupName="theirs", Description="theirs", VpcId=other.vpc)[
        "GroupId"
    ]
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": stack.group}]}
    ec2.authorize_security_group_ingress(GroupId=theirs, IpPermissions=[rule])
    look = lambda: ec2.describe_security_groups(GroupIds=[theirs])["SecurityGroups"]  # noqa: E731
    before = look()
    [left] = sweep(client, "demo", sleep, quiet, with_kept=True)
    assert left.id == stack.group
    assert f"rules of {theirs}" in left.why
    assert look() == before


def test_a_policy_that_others_have_attached_is_left_on_their_role(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack, iam = Builder(aws, "demo"), aws.client("iam")
    stack.identity()
    aws.role("theirs", "ec2.amazonaws.com")
    policy = iam.list_policies(Scope="Local")["Policies"][0]["Arn"]
    iam.attach_role_policy(RoleName="theirs", PolicyArn=policy)
    [left] = sweep(client, "demo", sleep, quiet, with_kept=True)
    assert (left.kind, left.id) == ("IAM policy", policy)
    assert "used by theirs" in left.why


def test_an_unmarked_machine_in_our_vpc_is_left_running(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    stack.unmarked_machine()
    left = {one.kind for one in sweep(client, "demo", sleep, quiet, with_kept=True)}
    assert {"instance", "network interface", "subnet", "VPC"} <= left
    until(
        lambda: {one["State"]["Name"] for one in aws.instances()},
        lambda states: states == {"running"},
    )


def test_lost_answers_and_throttling_leave_nothing_behind(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    before = listing(aws)
    Builder(aws, "demo").everything()
    aws.fault("throttle", probability=0.1, seed=1)
    aws.fault("lost", mutating=True, probability=0.2, seed=2)
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []
    aws.control("DELETE", "faults")
    assert listing(aws) == before


def test_only_what_is_wanted_is_removed(aws: PretendAws, client: Aws, sleep: Sleep) -> None:
    stack = Builder(aws, "demo")
    stack.shelves()
    assert (
        sweep(
            client,
            "demo",
            sleep,
            quiet,
            with_kept=True,
            selected=lambda one: one.kind != "S3 bucket",
        )
        == []
    )
    assert {one.kind for one in find(client, "demo")} == {"S3 bucket"}


def test_removing_one_stack_leaves_the_other(aws: PretendAws, client: Aws, sleep: Sleep) -> None:
    Builder(aws, "keep").network()
    Builder(aws, "keep").shelves()
    settle(aws)
    before = listing(aws)
    stack = Builder(aws, "demo")
    stack.network()
    stack.shelves()
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []
    assert listing(aws) == before


def test_an_interrupted_removal_asks_for_nothing_more(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack = Builder(aws, "demo")
    stack.network()
    stack.shelves()
    found = find(client, "demo")
    aws.control("DELETE", "calls")

    class Stopped(Exception):
        pass

    def interrupted(text: str) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        remove(client, found, sleep, interrupted)
    assert not {"DeleteVpc", "DeleteSubnet", "DeleteInternetGateway"} & {
        call["action"] for call in aws.calls()
    }
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []


def test_a_sweep_leaves_what_holds_something_and_what_says_that_it_is_kept(
    aws: PretendAws, client: Aws, sleep: Sleep
) -> None:
    stack, ecr = Builder(aws, "demo"), aws.client("ecr")
    stack.shelves()
    ec2 = aws.client("ec2")
    volume = ec2.create_volume(
        AvailabilityZone="us-west-2a",
        Size=10,
        VolumeType="gp3",
        TagSpecifications=[
            {
                "ResourceType": "volume",
                "Tags": [*stack.list, {"Key": "playrunner:keep", "Value": "true"}],
            }
        ],
    )["VolumeId"]
    snapshot = ec2.create_snapshot(
        VolumeId=volume,
        TagSpecifications=[
            {
                "ResourceType": "snapshot",
                "Tags": [*stack.list, {"Key": "playrunner:keep", "Value": "true"}],
            }
        ],
    )["SnapshotId"]
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": kind, "layers": [], "config": {"digest": "sha256:0"}}
    )
    ecr.put_image(repositoryName="demo/images", imageManifest=manifest, imageTag="v1")
    left = {one.id: one for one in sweep(client, "demo", sleep, quiet)}
    assert set(left) == {stack.bucket, "demo/images", volume, snapshot}
    assert left[volume].kept and left[snapshot].kept
    assert not left[stack.bucket].kept and "--with-kept" in left[stack.bucket].why
    assert left["demo/images"].why.startswith("holds 1 image")
    assert sweep(client, "demo", sleep, quiet, with_kept=True) == []


@pytest.mark.parametrize("kept", [False, True], ids=["alone", "beside-what-is-kept"])
def test_what_late_reads_still_show_after_it_was_deleted_is_not_said_to_be_left(
    aws: PretendAws, client: Aws, kept: bool
) -> None:
    stack = Builder(aws, "demo")
    if kept:
        aws.client("ec2").create_volume(
            AvailabilityZone="us-west-2a",
            Size=1,
            TagSpecifications=[
                {
                    "ResourceType": "volume",
                    "Tags": [*stack.list, {"Key": "playrunner:keep", "Value": "true"}],
                }
            ],
        )
    before = listing(aws)
    for step in Builder.STEPS[:2]:
        getattr(stack, step)()
    settle(aws)
    aws.control("POST", "settings", {"lag": {"*": 6.0}})
    listing(aws)  # so that there is something old to show
    try:
        left = sweep(client, "demo", time.sleep, quiet, with_kept=not kept)
    finally:
        aws.control("POST", "settings", {"lag": {}})
    assert [leftover.kept for leftover in left] == [True] * kept, left
    assert listing(aws) == before
