"""aws.instance: one machine, such as a jump host."""

from __future__ import annotations

from typing import Any

from tests.modules.aws.test_security_group import group
from tests.modules.aws.test_subnet import subnet
from tests.modules.aws.test_vpc import VPC
from tests.support.aws.module_stage import AwsStage, keeps_its_promise
from tests.support.until import until

IMAGE = "ami-0a1000000000000a1"
ELSEWHERE = {
    "name": "elsewhere",
    "register": "elsewhere",
    "aws.subnet": {
        "name": "back",
        "vpc_id": "{{ vpc.VpcId }}",
        "zone": "us-west-2c",
        "cidr": "10.0.64.0/19",
    },
}
BEFORE = [VPC, subnet(public=True), ELSEWHERE, group("one"), group("two")]


def host(**more: Any) -> dict[str, Any]:
    wish = {
        "name": "jump",
        "image_id": IMAGE,
        "subnet_ids": ["{{ subnet.SubnetId }}", "{{ elsewhere.SubnetId }}"],
        "security_group_ids": ["{{ one.GroupId }}"],
        **more,
    }
    return {"name": "host", "aws.instance": wish, "register": "host"}


def alive(stage: AwsStage) -> list[dict[str, Any]]:
    return [one for one in stage.aws.instances() if one["State"]["Name"] != "terminated"]


def test_an_instance_keeps_its_promise(stage: AwsStage) -> None:
    other = host(
        security_group_ids=["{{ one.GroupId }}", "{{ two.GroupId }}"], tags={"purpose": "test"}
    )
    keeps_its_promise(stage, host(), other, before=BEFORE)
    assert alive(stage) == []


def test_it_runs_encrypted_with_sessions_only_and_carries_the_mark(stage: AwsStage) -> None:
    found = stage.play([*BEFORE, host(volume_gib=42, public=True)]).values["host"]
    assert found["State"]["Name"] == "running" and found["PublicIpAddress"]
    asked = stage.aws.client("ec2").describe_instances(InstanceIds=[found["InstanceId"]])[
        "Reservations"
    ][0]["Instances"][0]
    assert asked["MetadataOptions"]["HttpTokens"] == "required"
    volume = stage.aws.client("ec2").describe_volumes()["Volumes"][0]
    assert (volume["Size"], volume["VolumeType"], volume["Encrypted"]) == (42, "gp3", True)
    assert {"Key": "playrunner:cluster", "Value": "demo"} in volume["Tags"]


def test_a_lost_answer_leaves_one_instance(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="ec2", action="RunInstances", times=1)
    assert stage.play([*BEFORE, host()]).code == 0
    assert len(alive(stage)) == 1


def test_a_zone_without_capacity_falls_over_to_the_next(stage: AwsStage) -> None:
    stage.aws.fault("insufficient_capacity", zone="us-west-2b")
    run = stage.play([*BEFORE, host()])
    assert run.code == 0, run.messages
    assert run.values["host"]["Placement"]["AvailabilityZone"] == "us-west-2c"


def test_no_zone_with_capacity_is_told_in_the_services_words(stage: AwsStage) -> None:
    for zone in ("us-west-2b", "us-west-2c"):
        stage.aws.fault("insufficient_capacity", zone=zone)
    run = stage.play([*BEFORE, host()])
    assert run.code == 2 and "capacity" in run.messages


def test_one_that_was_stopped_is_started(stage: AwsStage) -> None:
    number = stage.play([*BEFORE, host()]).values["host"]["InstanceId"]
    stage.aws.client("ec2").stop_instances(InstanceIds=[number])
    run = stage.play([*BEFORE, host()])
    assert run.code == 0 and run.values["host"]["InstanceId"] == number
    assert until(lambda: alive(stage)[0]["State"]["Name"], lambda state: state == "running")


def test_its_size_cannot_be_changed(stage: AwsStage) -> None:
    assert stage.play([*BEFORE, host()]).code == 0
    assert (
        "InstanceType is 't3.large' and cannot become 'm5.large'"
        in stage.play([*BEFORE, host(instance_type="m5.large")]).messages
    )
