"""aws.efs_filesystem: made encrypted, mended where it can be, and never changed where it cannot."""

from __future__ import annotations

from typing import Any

from tests.support.aws.module_stage import AwsStage, keeps_its_promise


def store(**more: Any) -> dict[str, Any]:
    return {"name": "store", "aws.efs_filesystem": {"name": "data", **more}, "register": "store"}


def test_it_keeps_its_promise(stage: AwsStage) -> None:
    def foreign() -> None:
        stage.aws.client("efs").create_file_system(CreationToken="data", Encrypted=True)

    keeps_its_promise(stage, store(), store(infrequent_after_days=30), foreign=foreign)


def test_it_is_encrypted_and_as_fast_as_it_is_used(stage: AwsStage) -> None:
    made = stage.play([store()]).values["store"]
    (found,) = stage.aws.client("efs").describe_file_systems()["FileSystems"]
    assert (found["Encrypted"], found["ThroughputMode"], found["PerformanceMode"]) == (
        True,
        "elastic",
        "generalPurpose",
    )
    assert found["CreationToken"] == found["Name"] == "data"
    assert made["FileSystemId"] == found["FileSystemId"]
    assert made["DNSName"] == f"{found['FileSystemId']}.efs.us-west-2.amazonaws.com"


def test_files_nobody_reads_move_to_the_cheaper_class_and_back(stage: AwsStage) -> None:
    efs = stage.aws.client("efs")
    number = stage.play([store(infrequent_after_days=1, backup=True)]).values["store"][
        "FileSystemId"
    ]
    policies = efs.describe_lifecycle_configuration(FileSystemId=number)["LifecyclePolicies"]
    assert policies == [
        {"TransitionToIA": "AFTER_1_DAY"},
        {"TransitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
    ]
    assert efs.describe_backup_policy(FileSystemId=number)["BackupPolicy"]["Status"] == "ENABLED"
    assert stage.play([store(infrequent_after_days=0)]).statuses == {"store": "changed"}
    assert efs.describe_lifecycle_configuration(FileSystemId=number)["LifecyclePolicies"] == []


def test_throughput_and_backup_are_changed_in_place(stage: AwsStage) -> None:
    first = stage.play([store()]).values["store"]
    run = stage.play([store(throughput="provisioned", throughput_mibps=64, backup=True)])
    assert run.code == 0, run.messages
    (found,) = stage.aws.client("efs").describe_file_systems()["FileSystems"]
    assert (found["ThroughputMode"], found["ProvisionedThroughputInMibps"]) == ("provisioned", 64)
    assert found["FileSystemId"] == first["FileSystemId"]
    assert not stage.play(
        [store(throughput="provisioned", throughput_mibps=64, backup=True)]
    ).changed


def test_what_is_fixed_at_creation_is_said_so_also_by_check(stage: AwsStage) -> None:
    stage.play([store()])
    for check in (True, False):
        run = stage.play([store(encrypted=False)], check=check)
        assert run.code == 2 and "cannot be changed" in run.messages


def test_an_answer_that_was_lost_leaves_one(stage: AwsStage) -> None:
    stage.aws.fault("lost", service="efs", action="CreateFileSystem", times=1)
    assert stage.play([store()]).code == 0
    assert len(stage.aws.client("efs").describe_file_systems()["FileSystems"]) == 1


def test_it_can_be_taken_away_while_it_is_being_made(stage: AwsStage) -> None:
    stage.aws.delays(efs__file_system=0.5)
    tags = [{"Key": "playrunner:cluster", "Value": "demo"}]
    stage.aws.client("efs").create_file_system(CreationToken="data", Encrypted=True, Tags=tags)
    assert stage.delete([store()]).code == 0
    assert stage.aws.client("efs").describe_file_systems()["FileSystems"] == []


def test_addresses_that_no_step_speaks_of_any_more_go_with_it(stage: AwsStage) -> None:
    number = stage.play([store()]).values["store"]["FileSystemId"]
    efs = stage.aws.client("efs")
    for subnet in stage.aws.network()[1]:
        efs.create_mount_target(FileSystemId=number, SubnetId=subnet)
    removed = stage.delete([store()])
    assert removed.code == 0, removed.text
    assert efs.describe_file_systems()["FileSystems"] == []
    assert stage.aws.client("ec2").describe_network_interfaces()["NetworkInterfaces"] == []
