"""Data repository associations of FSx for Lustre: folders that show what is in a bucket."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.aws.api.tokens import forget, once
from playrunner.sandbox.aws.api.wire import AwsError, Call, page

BAD = "BadRequest"
MOST = 8  # associations of one file system
_MISSING = "DataRepositoryAssociationNotFound"


def create(call: Call) -> dict[str, Any]:
    return once(call, call.params.get("ClientRequestToken"), lambda: _create(call))


def _create(call: Call) -> dict[str, Any]:
    params = call.params
    number = params["FileSystemId"]
    file_system = call.region.fsx.get(number)
    if file_system is None:
        raise AwsError("FileSystemNotFound", f"File system '{number}' does not exist.")
    if file_system["Lifecycle"] != "AVAILABLE":
        raise AwsError(BAD, f"File system {number} is in state {file_system['Lifecycle']}")
    lustre = file_system["LustreConfiguration"]
    if lustre["DeploymentType"] == "SCRATCH_1" or "DataRepositoryConfiguration" in lustre:
        raise AwsError(
            BAD,
            "Data repository associations are not supported on SCRATCH_1 file systems and on file"
            " systems that were created with an import path",
        )
    path, bucket = params.get("FileSystemPath") or "/", params["DataRepositoryPath"]
    if not path.startswith("/") or not bucket.startswith("s3://"):
        raise AwsError(BAD, "FileSystemPath begins with / and DataRepositoryPath with s3://")
    others = [link for link in call.region.fsx_links.values() if link["FileSystemId"] == number]
    if len(others) >= MOST:
        raise AwsError("ServiceLimitExceeded", f"File system {number} has {MOST} associations")
    for link in others:
        if _overlap(path, link["FileSystemPath"]) or _overlap(bucket, link["DataRepositoryPath"]):
            raise AwsError(
                BAD, f"The association overlaps with {link['AssociationId']} of the file system"
            )
    link_number = f"dra-{uuid.uuid4().hex[:17]}"
    link = {
        "AssociationId": link_number,
        "ResourceARN": f"{file_system['ResourceARN'].partition(':file-system/')[0]}:association"
        f"/{number}/{link_number}",
        "FileSystemId": number,
        "Lifecycle": "CREATING",
        "FileSystemPath": path,
        "DataRepositoryPath": bucket,
        "BatchImportMetaDataOnCreate": bool(params.get("BatchImportMetaDataOnCreate")),
        "S3": dict(params.get("S3") or {}),
        "Tags": list(params.get("Tags") or []),
        "CreationTime": datetime.now(UTC),
    }
    call.region.fsx_links[link_number] = link
    call.state.later("fsx.association", lambda: _settle(link, "CREATING"))
    return {"Association": link}


def describe(call: Call) -> dict[str, Any]:
    known, params = call.region.fsx_links, call.params
    wanted = params.get("AssociationIds") or list(known)
    links = [_find(call, number) for number in wanted]
    for condition in params.get("Filters") or ():
        if condition["Name"] != "file-system-id":
            raise AwsError(BAD, f"the filter {condition['Name']} is not supported here")
        links = [link for link in links if link["FileSystemId"] in condition["Values"]]
    return page(links, params, "Associations", "MaxResults", "NextToken")


def update(call: Call) -> dict[str, Any]:
    link = _find(call, call.params["AssociationId"])
    if link["Lifecycle"] != "AVAILABLE":
        raise AwsError(BAD, f"{link['AssociationId']} is in state {link['Lifecycle']}")
    link["S3"] = dict(call.params.get("S3") or link["S3"])
    link["Lifecycle"] = "UPDATING"
    call.state.later("fsx.association", lambda: _settle(link, "UPDATING"))
    return {"Association": link}


def delete(call: Call) -> dict[str, Any]:
    link = _find(call, call.params["AssociationId"])
    link["Lifecycle"] = "DELETING"

    def gone() -> None:
        call.region.fsx_links.pop(link["AssociationId"], None)
        forget(call, link)

    call.state.later("fsx.association", gone)
    return {"AssociationId": link["AssociationId"], "Lifecycle": "DELETING"}


def forget_those_of(call: Call, file_system: str) -> None:
    """They go with their file system."""
    for number, link in list(call.region.fsx_links.items()):
        if link["FileSystemId"] == file_system:
            del call.region.fsx_links[number]


def _settle(link: dict[str, Any], state: str) -> None:
    if link["Lifecycle"] == state:
        link["Lifecycle"] = "AVAILABLE"


def _overlap(one: str, other: str) -> bool:
    one, other = one.rstrip("/") + "/", other.rstrip("/") + "/"
    return one.startswith(other) or other.startswith(one)


def _find(call: Call, number: str) -> dict[str, Any]:
    if number not in call.region.fsx_links:
        raise AwsError(_MISSING, f"Data repository association '{number}' does not exist.")
    return call.region.fsx_links[number]


ANSWERS = {
    "CreateDataRepositoryAssociation": create,
    "DescribeDataRepositoryAssociations": describe,
    "UpdateDataRepositoryAssociation": update,
    "DeleteDataRepositoryAssociation": delete,
}
