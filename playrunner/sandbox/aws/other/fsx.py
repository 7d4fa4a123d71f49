"""FSx for Lustre: capacity and throughput rules, a life cycle, a mount name, interfaces, and tokens
that count."""

from __future__ import annotations

import secrets
import string
import uuid
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.tokens import forget, once
from playrunner.sandbox.aws.api.wire import AwsError, Call, page
from playrunner.sandbox.aws.ec2 import network
from playrunner.sandbox.aws.other import fsx_links

BAD = "BadRequest"
# deployment type: throughput per TiB that it takes (none: it has no choice)
THROUGHPUT = {
    "SCRATCH_1": (),
    "SCRATCH_2": (),
    "PERSISTENT_1": (50, 100, 200),
    "PERSISTENT_2": (125, 250, 500, 1000),
}
HDD_THROUGHPUT = {12: 6000, 40: 1800}  # MB/s per TiB: GiB per step
VERSIONS = ("2.10", "2.12", "2.15")
MUTABLE = (
    "WeeklyMaintenanceStartTime",
    "DailyAutomaticBackupStartTime",
    "AutomaticBackupRetentionDays",
    "AutoImportPolicy",
    "DataCompressionType",
    "PerUnitStorageThroughput",
)


def create_file_system(call: Call) -> dict[str, Any]:
    return once(call, call.params.get("ClientRequestToken"), lambda: _create(call))


def _create(call: Call) -> dict[str, Any]:
    params = call.params
    if params["FileSystemType"] != "LUSTRE":
        raise AwsError(
            "NotImplemented",
            f"the sandbox does only LUSTRE, not {params['FileSystemType']}; see docs/sandbox.md",
            501,
        )
    lustre = _checked(params)
    if len(params.get("SubnetIds") or []) != 1:
        raise AwsError(
            "InvalidNetworkSettings", "Exactly one subnet must be given for a Lustre file system"
        )
    subnet = network.find_subnets(call, params["SubnetIds"], "InvalidNetworkSettings")[0]
    network.find_groups(call, params.get("SecurityGroupIds") or [], "InvalidNetworkSettings")
    file_system = _description(call, lustre, subnet)
    number = file_system["FileSystemId"]
    call.region.fsx[number] = file_system
    group_ids = params.get("SecurityGroupIds") or []
    for _ in range(1 + params["StorageCapacity"] // 2400):  # one per file server
        said = f"Created by Amazon FSx, DO NOT DELETE: {number}"
        file_system["NetworkInterfaceIds"].append(
            network.hold_interface(call, subnet.id, group_ids, f"fsx/{number}", said)
        )
    failure = call.state.faults.fails_later("fsx", "CreateFileSystem", number)
    end: dict[str, Any] = {"Lifecycle": "AVAILABLE"}
    if failure is not None:
        end = {
            "Lifecycle": "FAILED",
            "FailureDetails": {
                "Message": failure.message or "The file system could not be created"
            },
        }
    call.state.later(
        "fsx.file_system.create",
        lambda: file_system.update(end) if file_system["Lifecycle"] == "CREATING" else None,
    )
    return {"FileSystem": file_system}


def _checked(params: dict[str, Any]) -> dict[str, Any]:
    lustre = dict(params.get("LustreConfiguration") or {})
    kind = lustre.setdefault("DeploymentType", "SCRATCH_1")
    storage, capacity, throughput = (
        params.get("StorageType") or "SSD",
        params.get("StorageCapacity"),
        lustre.get("PerUnitStorageThroughput"),
    )
    if capacity is None:
        raise AwsError(BAD, "StorageCapacity is required")
    if storage == "HDD" and kind != "PERSISTENT_1":
        raise AwsError(BAD, f"StorageType HDD is not supported for deployment type {kind}")
    allowed = tuple(HDD_THROUGHPUT) if storage == "HDD" else THROUGHPUT[kind]
    if allowed and throughput not in allowed:
        said = (
            f"PerUnitStorageThroughput must be one of {list(allowed)} for {kind} {storage}, not"
            f" {throughput}"
        )
        raise AwsError("InvalidPerUnitStorageThroughput", said)
    if not allowed and throughput is not None:
        raise AwsError(BAD, f"PerUnitStorageThroughput cannot be set for {kind}")
    if not _fits(capacity, kind, storage, throughput):
        step = _step(kind, storage, throughput)
        raise AwsError(
            BAD,
            f"Invalid capacity {capacity} for {kind} {storage}: use 1200, 2400, or a multiple of"
            f" {step}",
        )
    if params.get("FileSystemTypeVersion") not in (None, *VERSIONS):
        raise AwsError(BAD, f"FileSystemTypeVersion must be one of {list(VERSIONS)}")
    if lustre.get("AutomaticBackupRetentionDays") and kind.startswith("SCRATCH"):
        raise AwsError(BAD, f"Automatic backups are not supported for {kind}")
    if lustre.get("AutomaticBackupRetentionDays") and lustre.get("ImportPath"):
        raise AwsError(BAD, "Backups cannot be enabled on S3-linked file systems")
    if (storage == "HDD") != bool(lustre.get("DriveCacheType")):
        raise AwsError(
            BAD, "DriveCacheType is required for StorageType HDD, and for no other storage type"
        )
    return lustre


def _step(kind: str, storage: str, throughput: int | None) -> int:
    if storage == "HDD":
        return HDD_THROUGHPUT[throughput or 12]
    return 3600 if kind == "SCRATCH_1" else 2400


def _fits(capacity: int, kind: str, storage: str, throughput: int | None) -> bool:
    if storage == "SSD" and capacity in (1200, 2400):
        return True
    return capacity > 0 and capacity % _step(kind, storage, throughput) == 0


def _description(call: Call, lustre: dict[str, Any], subnet: Any) -> dict[str, Any]:
    params, number, kind = call.params, f"fs-{uuid.uuid4().hex[:17]}", lustre["DeploymentType"]
    letters = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(8))
    data = {key: lustre[key] for key in ("ImportPath", "ExportPath") if lustre.get(key)}
    automatic = 0 if kind.startswith("SCRATCH") else lustre.get("AutomaticBackupRetentionDays", 0)
    return {
        "OwnerId": ACCOUNT,
        "CreationTime": datetime.now(UTC),
        "FileSystemId": number,
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": (
            params.get("FileSystemTypeVersion") or ("2.15" if kind == "PERSISTENT_2" else "2.10")
        ),
        "Lifecycle": "CREATING",
        "StorageCapacity": params["StorageCapacity"],
        "StorageType": params.get("StorageType") or "SSD",
        "VpcId": subnet.vpc_id,
        "SubnetIds": [subnet.id],
        "NetworkInterfaceIds": [],
        "DNSName": f"{number}.fsx.{call.region_name}.amazonaws.com",
        "ResourceARN": f"arn:aws:fsx:{call.region_name}:{ACCOUNT}:file-system/{number}",
        "Tags": list(params.get("Tags") or []),
        "LustreConfiguration": {
            "WeeklyMaintenanceStartTime": "7:09:00",
            "DataCompressionType": "NONE",
            "CopyTagsToBackups": False,
            **{
                key: value
                for key, value in lustre.items()
                if key not in ("ImportPath", "ExportPath")
            },
            "MountName": "fsx" if kind == "SCRATCH_1" else letters,
            "AutomaticBackupRetentionDays": automatic,
            **({"DataRepositoryConfiguration": {"Lifecycle": "AVAILABLE", **data}} if data else {}),
        },
    }


def describe_file_systems(call: Call) -> dict[str, Any]:
    wanted = call.params.get("FileSystemIds")
    found = [_find(call, number) for number in wanted] if wanted else list(call.region.fsx.values())
    return page(found, call.params, "FileSystems", "MaxResults", "NextToken")


def delete_file_system(call: Call) -> dict[str, Any]:
    number = call.params["FileSystemId"]
    file_system = _find(call, number)
    if file_system["Lifecycle"] == "CREATING":
        raise AwsError(BAD, f"File system {number} is being created and cannot be deleted")
    if file_system["Lifecycle"] != "DELETING":
        file_system["Lifecycle"] = "DELETING"
        call.state.later("fsx.file_system.delete", lambda: _gone(call, file_system))
    return {"FileSystemId": number, "Lifecycle": "DELETING", "LustreResponse": {}}


def _gone(call: Call, file_system: dict[str, Any]) -> None:
    for interface_id in file_system["NetworkInterfaceIds"]:
        network.release_interface(call, interface_id)
    fsx_links.forget_those_of(call, file_system["FileSystemId"])
    call.region.fsx.pop(file_system["FileSystemId"], None)
    forget(call, file_system)


def update_file_system(call: Call) -> dict[str, Any]:
    file_system, params = _find(call, call.params["FileSystemId"]), call.params
    if file_system["Lifecycle"] != "AVAILABLE":
        raise AwsError(
            BAD, f"File system {params['FileSystemId']} is in state {file_system['Lifecycle']}"
        )
    lustre = {
        key: value
        for key, value in (params.get("LustreConfiguration") or {}).items()
        if key in MUTABLE
    }
    after = {
        "StorageCapacity": params.get("StorageCapacity") or file_system["StorageCapacity"],
        "StorageType": file_system["StorageType"],
        "LustreConfiguration": {**file_system["LustreConfiguration"], **lustre},
    }
    if after["StorageCapacity"] < file_system["StorageCapacity"]:
        raise AwsError(BAD, "The storage capacity can only be increased")
    _checked(after)
    file_system["Lifecycle"] = "UPDATING"
    call.state.later(
        "fsx.file_system.create", lambda: file_system.update({**after, "Lifecycle": "AVAILABLE"})
    )
    return {"FileSystem": file_system}


def tag_resource(call: Call) -> dict[str, Any]:
    file_system = _by_arn(call)
    fresh = {tag["Key"] for tag in call.params["Tags"]}
    file_system["Tags"] = [
        tag for tag in file_system["Tags"] if tag["Key"] not in fresh
    ] + call.params["Tags"]
    return {}


def untag_resource(call: Call) -> dict[str, Any]:
    file_system = _by_arn(call)
    file_system["Tags"] = [
        tag for tag in file_system["Tags"] if tag["Key"] not in call.params["TagKeys"]
    ]
    return {}


def list_tags_for_resource(call: Call) -> dict[str, Any]:
    return {"Tags": _by_arn(call)["Tags"]}


def describe_nothing(key: str) -> Any:
    """For what the sandbox never has any of."""
    return lambda call: {key: []}


def _find(call: Call, number: str) -> dict[str, Any]:
    if number not in call.region.fsx:
        raise AwsError("FileSystemNotFound", f"File system '{number}' does not exist.")
    return call.region.fsx[number]


def _by_arn(call: Call) -> dict[str, Any]:
    arn = call.params["ResourceARN"]
    found = next((one for one in call.region.fsx.values() if one["ResourceARN"] == arn), None)
    if found is None:
        raise AwsError("ResourceNotFound", f"{arn} does not exist", ResourceARN=arn)
    return found


ANSWERS = {
    "CreateFileSystem": create_file_system,
    "DescribeFileSystems": describe_file_systems,
    "DeleteFileSystem": delete_file_system,
    "UpdateFileSystem": update_file_system,
    "TagResource": tag_resource,
    "UntagResource": untag_resource,
    "ListTagsForResource": list_tags_for_resource,
    "DescribeBackups": describe_nothing("Backups"),
    **fsx_links.ANSWERS,
}
