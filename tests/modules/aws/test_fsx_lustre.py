"""aws.fsx_lustre: sizes that exist, growth in place, and the service's own reason when it fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def fast(subnet: str, **more: Any) -> dict[str, Any]:
    given = {
        "name": "fast",
        "subnet": subnet,
        "capacity_gib": 1200,
        "throughput_per_tib": 200,
        "version": "2.12",
        **more,
    }
    return {"name": "fast", "aws.fsx_lustre": given, "register": "fast"}


@pytest.fixture
def subnet(stage: AwsStage) -> str:
    return stage.aws.network()[1][0]


def test_it_keeps_its_promise(stage: AwsStage, subnet: str) -> None:
    keeps_its_promise(stage, fast(subnet), fast(subnet, capacity_gib=4800))


def test_it_is_made_as_declared_and_says_how_to_mount_it(stage: AwsStage, subnet: str) -> None:
    wish = {
        "backup_days": 1,
        "backup_time": "00:00",
        "tags_on_backups": True,
        "compression": "NONE",
        "maintenance_time": "7:09:00",
    }
    made = stage.play([fast(subnet, **wish)]).values["fast"]
    (found,) = stage.aws.client("fsx").describe_file_systems()["FileSystems"]
    lustre = found["LustreConfiguration"]
    assert (found["StorageCapacity"], found["FileSystemTypeVersion"], found["SubnetIds"]) == (
        1200,
        "2.12",
        [subnet],
    )
    assert (lustre["DeploymentType"], lustre["PerUnitStorageThroughput"]) == ("PERSISTENT_1", 200)
    assert (lustre["AutomaticBackupRetentionDays"], lustre["DailyAutomaticBackupStartTime"]) == (
        1,
        "00:00",
    )
    assert (lustre["CopyTagsToBackups"], lustre["WeeklyMaintenanceStartTime"]) == (True, "7:09:00")
    assert made["DNSName"] == found["DNSName"]
    assert made["LustreConfiguration"]["MountName"] == lustre["MountName"]


def test_size_and_speed_change_one_after_the_other(stage: AwsStage, subnet: str) -> None:
    number = stage.play([fast(subnet)]).values["fast"]["FileSystemId"]
    run = stage.play([fast(subnet, capacity_gib=2400, throughput_per_tib=100, compression="LZ4")])
    assert run.code == 0, run.messages
    (found,) = stage.aws.client("fsx").describe_file_systems()["FileSystems"]
    assert (found["FileSystemId"], found["StorageCapacity"]) == (number, 2400)
    assert found["LustreConfiguration"]["PerUnitStorageThroughput"] == 100
    assert len(stage.aws.calls("UpdateFileSystem")) == 2


def test_it_does_not_shrink_and_does_not_change_its_kind(stage: AwsStage, subnet: str) -> None:
    stage.play([fast(subnet, capacity_gib=2400)])
    assert "cannot shrink" in stage.play([fast(subnet)]).messages
    other = stage.play(
        [fast(subnet, capacity_gib=2400, deployment="PERSISTENT_2", throughput_per_tib=250)],
        check=True,
    )
    assert "cannot be changed to 'PERSISTENT_2'" in other.messages


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"capacity_gib": 1201}, "capacity_gib is 1200, 2400 or a multiple of 2400"),
        ({"capacity_gib": 3600}, "a multiple of 2400"),
        ({"throughput_per_tib": 125}, "one of 50, 100, 200"),
        ({"deployment": "SCRATCH_2"}, "throughput_per_tib is not given for SCRATCH_2"),
        ({"deployment": "SCRATCH_2", "throughput_per_tib": None, "backup_days": 1}, "no backups"),
        ({"storage": "HDD", "throughput_per_tib": 12}, "a multiple of 6000"),
        ({"storage": "HDD", "deployment": "PERSISTENT_2"}, "only for deployment: PERSISTENT_1"),
        (
            {"deployment": "PERSISTENT_2", "throughput_per_tib": 250, "import_path": "s3://a"},
            "not for PERSISTENT_2",
        ),
        ({"export_path": "s3://a"}, "needs import_path"),
        ({"import_path": "s3://a", "backup_days": 1}, "has no backups"),
        (
            {"storage": "HDD", "throughput_per_tib": 12, "capacity_gib": 6000},
            "needs drive_cache",
        ),
        ({"drive_cache": "READ"}, "for storage: HDD only"),
    ],
)
def test_what_does_not_exist_is_found_by_check(
    stage: AwsStage, subnet: str, wish: dict[str, Any], said: str
) -> None:
    run = stage.play([fast(subnet, **wish)], check=True)
    assert run.code and said in run.messages


def test_a_failure_tells_the_service_s_own_reason_and_can_be_deleted(
    stage: AwsStage, subnet: str
) -> None:
    stage.aws.fault(
        "fails_later",
        service="fsx",
        action="CreateFileSystem",
        message="the subnet has no free addresses",
    )
    for _ in range(2):
        run = stage.play([fast(subnet)])
        assert run.code == 2 and "the subnet has no free addresses" in run.messages
    assert len(stage.aws.calls("CreateFileSystem")) == 1
    assert stage.delete([fast(subnet)]).code == 0
    assert stage.aws.client("fsx").describe_file_systems()["FileSystems"] == []


def test_a_lost_answer_leaves_one(stage: AwsStage, subnet: str) -> None:
    stage.aws.fault("lost", service="fsx", action="CreateFileSystem", times=1)
    run = stage.play([fast(subnet)])
    assert run.code == 0, run.messages
    assert len(stage.aws.client("fsx").describe_file_systems()["FileSystems"]) == 1


def test_it_can_be_taken_away_while_it_is_being_made(stage: AwsStage, subnet: str) -> None:
    stage.aws.delays(fsx__file_system__create=0.5)
    tags = [{"Key": "playrunner:cluster", "Value": "demo"}, {"Key": "Name", "Value": "fast"}]
    stage.aws.client("fsx").create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[subnet],
        Tags=tags,
        LustreConfiguration={"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 200},
    )
    run = stage.delete([fast(subnet)])
    assert run.code == 0, run.text
    assert stage.aws.client("fsx").describe_file_systems()["FileSystems"] == []


def test_one_on_hard_disks_says_how_it_caches(stage: AwsStage, subnet: str) -> None:
    slow = fast(subnet, storage="HDD", throughput_per_tib=12, capacity_gib=6000, drive_cache="READ")
    run = stage.play([slow])
    assert run.code == 0, run.messages
    assert not stage.play([slow]).changed
    (found,) = stage.aws.client("fsx").describe_file_systems()["FileSystems"]
    assert found["LustreConfiguration"]["DriveCacheType"] == "READ"


def test_a_bucket_shown_as_files_is_fixed_at_creation(stage: AwsStage, subnet: str) -> None:
    linked = fast(subnet, import_path="s3://corpus/train", export_path="s3://corpus/out")
    assert stage.play([linked]).code == 0
    assert not stage.play([linked]).changed
    run = stage.play([fast(subnet, import_path="s3://corpus/other", export_path="s3://corpus/out")])
    assert "cannot be changed to 's3://corpus/other'" in run.messages
