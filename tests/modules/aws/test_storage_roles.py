"""The roles efs, fsx, registry and bucket: what they bring about by default, what they give to
others, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage, Run


def role(name: str, *shown: str) -> list[dict[str, Any]]:
    """A role, and a step that reads what it gives to others."""
    say = {
        "name": "shown",
        "debug": {"msg": {variable: f"{{{{ {variable} }}}}" for variable in shown}},
    }
    return [{"name": "role", "import_role": {"name": name}}, *([say] if shown else [])]


def shown(run: Run) -> dict[str, Any]:
    assert run.code == 0, run.messages
    return dict(run.values["shown"]["msg"])


def nothing_left(stage: AwsStage) -> bool:
    client, ours = stage.aws.client, [{"Name": "tag-key", "Values": ["playrunner:cluster"]}]
    return not any(
        (
            client("efs").describe_file_systems()["FileSystems"],
            client("efs").describe_access_points()["AccessPoints"],
            client("fsx").describe_file_systems()["FileSystems"],
            client("ecr").describe_repositories()["repositories"],
            client("s3").list_buckets()["Buckets"],
            client("ec2").describe_security_groups(Filters=ours)["SecurityGroups"],
            client("ec2").describe_network_interfaces()["NetworkInterfaces"],
        )
    )


@pytest.mark.parametrize("name", ["efs", "fsx", "registry", "bucket"])
def test_a_role_is_made_once_and_goes_without_a_trace(stage: AwsStage, name: str) -> None:
    first = stage.play(role(name))
    assert first.code == 0 and first.changed, first.messages
    again = stage.play(role(name))
    assert again.code == 0 and not again.changed
    removed = stage.delete(role(name))
    assert removed.code == 0, removed.text
    assert nothing_left(stage)


def test_efs_can_be_mounted_once_in_every_zone_and_only_from_inside(stage: AwsStage) -> None:
    points = [{"name": "jobs"}]
    steps = role(
        "efs",
        "efs_mountable_id",
        "efs_filesystem_id",
        "efs_dns_name",
        "efs_security_group_id",
        "efs_addresses_by_zone",
        "efs_access_point_ids",
    )
    given = shown(stage.play(steps, efs_access_points=points))
    efs = stage.aws.client("efs")
    targets = efs.describe_mount_targets(FileSystemId=given["efs_filesystem_id"])["MountTargets"]
    zones = [target["AvailabilityZoneName"] for target in targets]
    assert len(zones) >= 2 and sorted(zones) == sorted(set(zones)) == sorted(
        given["efs_addresses_by_zone"]
    )
    assert given["efs_mountable_id"] == given["efs_filesystem_id"]
    assert list(given["efs_access_point_ids"]) == ["demo-efs-jobs"]
    (group,) = stage.aws.client("ec2").describe_security_groups(
        GroupIds=[given["efs_security_group_id"]]
    )["SecurityGroups"]
    (rule,) = group["IpPermissions"]
    (vpc,) = stage.aws.client("ec2").describe_vpcs(VpcIds=[group["VpcId"]])["Vpcs"]
    assert (rule["FromPort"], rule["ToPort"], rule["IpRanges"][0]["CidrIp"]) == (
        2049,
        2049,
        vpc["CidrBlock"],
    )
    assert stage.delete(steps, efs_access_points=points).code == 0
    assert nothing_left(stage)


def test_fsx_says_how_to_mount_it(stage: AwsStage) -> None:
    steps = role(
        "fsx",
        "fsx_filesystem_id",
        "fsx_mount_name",
        "fsx_dns_name",
        "fsx_mount_source",
        "fsx_security_group_id",
    )
    given = shown(stage.play(steps))
    (found,) = stage.aws.client("fsx").describe_file_systems()["FileSystems"]
    lustre = found["LustreConfiguration"]
    assert (
        found["StorageCapacity"],
        lustre["DeploymentType"],
        lustre["PerUnitStorageThroughput"],
    ) == (1200, "PERSISTENT_1", 200)
    assert given["fsx_mount_source"] == f"{found['DNSName']}@tcp:/{lustre['MountName']}"
    (group,) = stage.aws.client("ec2").describe_security_groups(
        GroupIds=[given["fsx_security_group_id"]]
    )["SecurityGroups"]
    assert {(rule["FromPort"], rule["ToPort"]) for rule in group["IpPermissions"]} == {
        (988, 988),
        (1018, 1023),
    }
    peers = {
        pair["GroupId"] for rule in group["IpPermissions"] for pair in rule["UserIdGroupPairs"]
    }
    assert peers == {group["GroupId"]}


@pytest.mark.parametrize(
    "wish",
    [
        {"fsx_import_path": "s3://corpus/train"},
        {"fsx_storage": "HDD", "fsx_throughput_per_tib": 12, "fsx_capacity_gib": 6000},
    ],
)
def test_defaults_fit_what_shows_a_bucket_and_what_is_on_hard_disks(
    stage: AwsStage, wish: dict[str, Any]
) -> None:
    run = stage.play(role("fsx"), **wish)
    assert run.code == 0, run.messages
    assert not stage.play(role("fsx"), **wish).changed


def test_a_yes_or_no_may_be_given_as_text(stage: AwsStage) -> None:
    assert stage.play(role("fsx"), fsx_csi="false").code == 0
    assert stage.play(role("efs"), efs_csi="false").code == 0


def test_a_scratch_file_system_needs_only_its_kind(stage: AwsStage) -> None:
    run = stage.play(role("fsx"), fsx_deployment="SCRATCH_2")
    assert run.code == 0, run.messages
    assert not stage.play(role("fsx"), fsx_deployment="SCRATCH_2").changed


def test_the_registry_gives_an_address_for_every_image(stage: AwsStage) -> None:
    given = shown(
        stage.play(
            role("registry", "registry_uri", "registry_uris", "registry_host"),
            registry_repositories=["fsdp", "nccl-tests"],
        )
    )
    host = "123456789012.dkr.ecr.us-west-2.amazonaws.com"
    assert given == {
        "registry_uri": f"{host}/fsdp",
        "registry_host": host,
        "registry_uris": {"fsdp": f"{host}/fsdp", "nccl-tests": f"{host}/nccl-tests"},
    }


def test_images_and_data_stay_when_the_rest_is_torn_down(stage: AwsStage) -> None:
    steps = [*role("registry"), *role("bucket")]
    assert stage.play(steps).code == 0
    assert not stage.delete(steps, with_kept=False, registry_keep=True).gone
    wish = {"registry_keep": True, "bucket_keep": False}
    assert not stage.delete(steps, with_kept=False, **wish).gone, "its own tag says to keep it"
    assert stage.play(steps, **wish).code == 0
    assert len(stage.delete(steps, with_kept=False, **wish).gone) == 1
    assert stage.aws.client("ecr").describe_repositories()["repositories"]
    assert stage.delete(steps, with_kept=True).code == 0
    assert nothing_left(stage)


def test_the_bucket_gives_its_address(stage: AwsStage) -> None:
    given = shown(
        stage.play(
            role("bucket", "bucket_name", "bucket_arn", "bucket_uri"), bucket_name="demo-corpus"
        )
    )
    assert given == {
        "bucket_name": "demo-corpus",
        "bucket_arn": "arn:aws:s3:::demo-corpus",
        "bucket_uri": "s3://demo-corpus",
    }


def test_every_answer_may_be_lost_once_on_the_way_there_and_back(stage: AwsStage) -> None:
    """Nothing is made twice, and nothing stays."""
    steps = [*role("efs"), *role("fsx"), *role("registry"), *role("bucket")]
    wish = {
        "efs_access_points": [{"name": "jobs"}],
        "efs_infrequent_after_days": 30,
        "bucket_versioning": True,
    }
    storage = ("efs", "fsx", "ecr", "s3")
    stage.play(steps, **wish)
    actions = {
        (call["service"], call["action"])
        for call in stage.aws.calls()
        if call["mutating"] and call["service"] in storage
    }
    stage.aws.control("POST", "reset")
    stage.aws.delays(**{"*": 0.05})
    for service, action in actions:
        stage.aws.fault("lost", service=service, action=action, times=1)
    run = stage.play(steps, **wish)
    assert run.code == 0, run.messages
    assert sum(call["fault"] == "lost" for call in stage.aws.calls()) == len(actions)
    assert not stage.play(steps, **wish).changed
    assert len(stage.aws.client("efs").describe_file_systems()["FileSystems"]) == 1
    assert len(stage.aws.client("efs").describe_access_points()["AccessPoints"]) == 1
    assert len(stage.aws.client("fsx").describe_file_systems()["FileSystems"]) == 1
    stage.aws.fault("lost", service=",".join(storage), mutating=True, times=3)
    removed = stage.delete(steps, **wish)
    assert removed.code == 0, removed.text
    assert nothing_left(stage)
