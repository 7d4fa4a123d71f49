"""aws.efs_mount_target: one address per zone, behind its own security group."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise

STORE = {"name": "store", "aws.efs_filesystem": {"name": "data"}, "register": "store"}


def door(subnet: str, *groups: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "door",
        "aws.efs_mount_target": {
            "file_system": "{{ store.FileSystemId }}",
            "subnet": subnet,
            "security_groups": list(groups),
        },
        **more,
    }


def network(stage: AwsStage) -> tuple[list[str], list[str]]:
    vpc, subnets = stage.aws.network()
    ec2 = stage.aws.client("ec2")
    groups = [
        ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"]
        for name in ("one", "two")
    ]
    return subnets, groups


def test_it_is_there_answers_its_groups_and_goes(stage: AwsStage) -> None:
    (subnet, _), (one, two) = network(stage)
    assert stage.play([STORE, door(subnet, one)], check=True).statuses["door"] == "unknown"
    made = stage.play([STORE, door(subnet, one)])
    assert made.changed == ["store", "door"], made.messages
    target = made.values["door"]["MountTargetId"]
    assert not stage.play([STORE, door(subnet, one)]).changed
    assert stage.play([STORE, door(subnet, two, one)]).changed == ["door"]
    efs = stage.aws.client("efs")
    assert sorted(
        efs.describe_mount_target_security_groups(MountTargetId=target)["SecurityGroups"]
    ) == sorted([one, two])
    assert not stage.play([STORE, door(subnet, one, two)]).changed
    removed = stage.delete([STORE, door(subnet, one)])
    assert removed.code == 0, removed.text
    assert efs.describe_file_systems()["FileSystems"] == []
    assert stage.aws.client("ec2").describe_network_interfaces()["NetworkInterfaces"] == []


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    (subnet, _), (one, two) = network(stage)
    assert stage.play([STORE]).code == 0
    number = stage.aws.client("efs").describe_file_systems()["FileSystems"][0]["FileSystemId"]

    def step(group: str) -> dict[str, Any]:
        return {
            "name": "door",
            "aws.efs_mount_target": {
                "file_system": number,
                "subnet": subnet,
                "security_groups": [group],
            },
        }

    keeps_its_promise(stage, step(one), step(two))


def test_all_zones_are_made_side_by_side_from_few_reads(stage: AwsStage) -> None:
    subnets, groups = network(stage)
    steps = [STORE, door("{{ item }}", groups[0], loop=subnets)]
    assert stage.play(steps).code == 0
    mark = len(stage.aws.calls())
    assert not stage.play(steps).changed
    asked = [call["action"] for call in stage.aws.calls()[mark:] if call["service"] != "sts"]
    assert set(asked) == {
        "DescribeFileSystems",
        "DescribeMountTargets",
        "DescribeNetworkInterfaces",
    }
    # Seven if no step shared a read; on a busy machine a read may be too old for the next step
    assert len(asked) < 6


def test_a_second_one_in_a_zone_is_refused_in_plain_words(stage: AwsStage) -> None:
    (subnet, _), (group, _) = network(stage)
    ec2 = stage.aws.client("ec2")
    vpc = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["VpcId"]
    beside = ec2.create_subnet(
        VpcId=vpc, CidrBlock="192.168.200.0/24", AvailabilityZone="us-west-2a"
    )["Subnet"]["SubnetId"]
    assert stage.play([STORE, door(subnet, group)]).code == 0
    run = stage.play([STORE, door(beside, group)])
    assert run.code == 2 and "one per zone" in run.messages and subnet in run.messages


def test_that_of_a_file_system_which_is_not_ours_is_left_alone(stage: AwsStage) -> None:
    (subnet, _), (group, _) = network(stage)
    efs = stage.aws.client("efs")
    stage.aws.delays(**{"*": 0.0})
    number = efs.create_file_system(CreationToken="theirs")["FileSystemId"]
    efs.create_mount_target(FileSystemId=number, SubnetId=subnet)
    step = {
        "name": "door",
        "aws.efs_mount_target": {
            "file_system": number,
            "subnet": subnet,
            "security_groups": [group],
        },
    }
    run = stage.play([step])
    assert run.code == 2 and "is not tagged" in run.messages
    assert not stage.delete([step]).gone
