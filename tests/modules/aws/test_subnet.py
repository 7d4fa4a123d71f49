"""aws.subnet: the part of a network that lies in one zone."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.modules.aws.subnet import part
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def subnet(**more: Any) -> dict[str, Any]:
    wish = {
        "name": "front",
        "vpc_id": "{{ vpc.VpcId }}",
        "zone": "us-west-2b",
        "cidr": "10.0.32.0/19",
        **more,
    }
    return {"name": "subnet", "aws.subnet": wish, "register": "subnet"}


def test_a_subnet_keeps_its_promise(stage: AwsStage) -> None:
    keeps_its_promise(
        stage, subnet(), subnet(public=True, tags={"kubernetes.io/role/elb": 1}), before=[VPC]
    )


def test_it_is_the_part_that_was_asked_for(stage: AwsStage) -> None:
    found = stage.play([VPC, subnet(cidr="10.0.0.0/16", prefix=19, block=7, public=True)]).values[
        "subnet"
    ]
    assert (found["CidrBlock"], found["AvailabilityZone"], found["MapPublicIpOnLaunch"]) == (
        "10.0.224.0/19",
        "us-west-2b",
        True,
    )


def test_a_run_that_was_killed_before_it_became_public_is_finished(stage: AwsStage) -> None:
    stage.aws.fault("error", service="ec2", action="ModifySubnetAttribute", status=400, times=1)
    assert stage.play([VPC, subnet(public=True)]).code == 2
    assert stage.play([VPC, subnet(public=True)]).values["subnet"]["MapPublicIpOnLaunch"] is True


def test_a_part_that_does_not_exist_is_refused(stage: AwsStage) -> None:
    run = stage.play([VPC, subnet(cidr="10.0.0.0/16", prefix=19, block=8)])
    assert "10.0.0.0/16 has 8 parts of the size /19; there is no part 8" in run.messages
    assert (
        stage.aws.client("ec2").describe_subnets(
            Filters=[{"Name": "tag:Name", "Values": ["front"]}]
        )["Subnets"]
        == []
    )


@pytest.mark.parametrize(
    ("prefix", "block", "found"),
    [
        (None, 0, "192.168.0.0/16"),
        (19, 0, "192.168.0.0/19"),
        (19, 4, "192.168.128.0/19"),
        (16, 0, "192.168.0.0/16"),
    ],
)
def test_parts_of_a_range(prefix: int | None, block: int, found: str) -> None:
    assert part("192.168.0.0/16", prefix, block) == found
