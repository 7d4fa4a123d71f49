"""The pretend EFS and FSx: states that take time, rules that are kept, interfaces that stand in the
way."""

from __future__ import annotations

from typing import Any

from tests.support.aws.sandbox import PretendAws, refused
from tests.support.until import until

PERSISTENT = {"DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 200}


def test_a_file_system_must_be_available_before_it_gets_mount_targets(aws: PretendAws) -> None:
    efs, ec2 = aws.client("efs"), aws.client("ec2")
    _, subnets = aws.network()
    made = efs.create_file_system(CreationToken="data", Encrypted=True)
    number = made["FileSystemId"]
    assert made["LifeCycleState"] == "creating"
    target = lambda: efs.create_mount_target(FileSystemId=number, SubnetId=subnets[0])  # noqa: E731
    assert refused(target) == "IncorrectFileSystemLifeCycleState"
    until(
        lambda: efs.describe_file_systems(FileSystemId=number)["FileSystems"][0]["LifeCycleState"],
        lambda state: state == "available",
    )
    mount = target()["MountTargetId"]
    assert refused(target) == "MountTargetConflict"

    def targets():
        return [
            one["LifeCycleState"]
            for one in efs.describe_mount_targets(FileSystemId=number)["MountTargets"]
        ]

    until(targets, lambda states: states == ["available"])
    assert refused(lambda: efs.delete_file_system(FileSystemId=number)) == "FileSystemInUse"
    efs.delete_mount_target(MountTargetId=mount)
    assert targets() == ["deleting"]
    assert refused(lambda: ec2.delete_subnet(SubnetId=subnets[0])) == "DependencyViolation"
    until(targets, lambda states: not states)
    ec2.delete_subnet(SubnetId=subnets[0])
    efs.delete_file_system(FileSystemId=number)
    until(lambda: efs.describe_file_systems()["FileSystems"], lambda left: not left)


def test_a_lustre_file_system_comes_and_goes(aws: PretendAws) -> None:
    fsx, ec2 = aws.client("fsx"), aws.client("ec2")
    vpc, subnets = aws.network()
    wish = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 1200,
        "SubnetIds": subnets[:1],
        "LustreConfiguration": PERSISTENT,
    }
    made = fsx.create_file_system(**wish, ClientRequestToken="one")["FileSystem"]
    assert (made["Lifecycle"], made["VpcId"]) == ("CREATING", vpc)
    assert (
        fsx.create_file_system(**wish, ClientRequestToken="one")["FileSystem"]["FileSystemId"]
        == made["FileSystemId"]
    )
    other = {**wish, "StorageCapacity": 2400}
    assert (
        refused(lambda: fsx.create_file_system(**other, ClientRequestToken="one"))
        == "IncompatibleParameterError"
    )
    file_system = until(
        lambda: fsx.describe_file_systems()["FileSystems"],
        lambda all_: all_[0]["Lifecycle"] == "AVAILABLE",
    )[0]
    assert len(file_system["LustreConfiguration"]["MountName"]) == 8
    assert file_system["DNSName"].startswith(file_system["FileSystemId"])
    assert refused(lambda: ec2.delete_subnet(SubnetId=subnets[0])) == "DependencyViolation"
    assert (
        fsx.delete_file_system(FileSystemId=file_system["FileSystemId"])["Lifecycle"] == "DELETING"
    )
    until(lambda: fsx.describe_file_systems()["FileSystems"], lambda left: not left)
    assert (
        refused(lambda: fsx.describe_file_systems(FileSystemIds=[file_system["FileSystemId"]]))
        == "FileSystemNotFound"
    )
    ec2.delete_subnet(SubnetId=subnets[0])


def test_lustre_sizes_and_throughputs_are_checked(aws: PretendAws) -> None:
    fsx = aws.client("fsx")
    _, subnets = aws.network()

    def create(capacity: int, lustre: dict[str, Any], subnets: list[str] = subnets[:1]) -> Any:
        wish = {
            "FileSystemType": "LUSTRE",
            "StorageCapacity": capacity,
            "SubnetIds": subnets,
            "LustreConfiguration": lustre,
        }
        return lambda: fsx.create_file_system(**wish)

    assert refused(create(1201, PERSISTENT)) == "BadRequest"
    assert refused(create(3600, PERSISTENT)) == "BadRequest"
    assert (
        refused(create(1200, {**PERSISTENT, "PerUnitStorageThroughput": 125}))
        == "InvalidPerUnitStorageThroughput"
    )
    assert (
        refused(create(1200, {"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": 200}))
        == "BadRequest"
    )
    assert refused(create(1200, PERSISTENT, subnets)) == "InvalidNetworkSettings"
    assert (
        refused(create(1200, PERSISTENT, ["subnet-00000000000000000"])) == "InvalidNetworkSettings"
    )
    create(4800, PERSISTENT)()
    create(3600, {"DeploymentType": "SCRATCH_1"})()


def test_a_lustre_file_system_can_grow(aws: PretendAws) -> None:
    fsx = aws.client("fsx")
    _, subnets = aws.network()
    wish = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 1200,
        "SubnetIds": subnets[:1],
        "LustreConfiguration": PERSISTENT,
    }
    number = fsx.create_file_system(**wish)["FileSystem"]["FileSystemId"]
    look = lambda: fsx.describe_file_systems(FileSystemIds=[number])["FileSystems"][0]  # noqa: E731
    until(look, lambda found: found["Lifecycle"] == "AVAILABLE")
    fsx.update_file_system(FileSystemId=number, StorageCapacity=2400)
    assert until(look, lambda found: found["Lifecycle"] == "AVAILABLE")["StorageCapacity"] == 2400
