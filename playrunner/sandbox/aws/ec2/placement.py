"""EC2 placement groups: by name, tagged, and not deletable while an instance is in them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from playrunner.sandbox.aws.api.aws_state import ACCOUNT
from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply, written
from playrunner.sandbox.aws.ec2 import network


def create_placement_group(call: Call) -> dict[str, Any]:
    params, groups = call.params, call.region.placement_groups
    name, strategy = params.get("GroupName"), params.get("Strategy") or "cluster"
    if not name:
        raise AwsError("MissingParameter", "The request must contain the parameter GroupName")
    if name in groups:
        raise AwsError(
            "InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists."
        )
    if strategy not in ("cluster", "spread", "partition"):
        raise AwsError(
            "InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid."
        )
    group_id = f"pg-{uuid.uuid4().hex[:17]}"
    groups[name] = {
        "GroupName": name,
        "GroupId": group_id,
        "GroupArn": f"arn:aws:ec2:{call.region_name}:{ACCOUNT}:placement-group/{name}",
        "State": "available",
        "Strategy": strategy,
        "PartitionCount": (params.get("PartitionCount") or 2) if strategy == "partition" else None,
        "SpreadLevel": (params.get("SpreadLevel") or "rack") if strategy == "spread" else None,
    }
    tags = {
        tag["Key"]: tag["Value"]
        for spec in params.get("TagSpecifications") or []
        for tag in spec.get("Tags") or []
    }
    network.backend(call.region_name).create_tags([group_id], tags)
    return {"PlacementGroup": described(call, groups[name])}


def described(call: Call, group: dict[str, Any]) -> dict[str, Any]:
    """A group with its tags, which EC2 keeps by id."""
    tags = network.backend(call.region_name).tags.get(group["GroupId"], {})
    return {**group, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def describe_placement_groups(call: Call) -> dict[str, Any]:
    params, groups = call.params, call.region.placement_groups
    for name in params.get("GroupNames") or []:
        if name not in groups:
            raise AwsError(
                "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown."
            )
    described_groups = [
        described(call, group)
        for group in groups.values()
        if (not params.get("GroupNames") or group["GroupName"] in params["GroupNames"])
        and (not params.get("GroupIds") or group["GroupId"] in params["GroupIds"])
    ]
    return {
        "PlacementGroups": [
            group
            for group in described_groups
            if all(_passes(group, filter_) for filter_ in params.get("Filters") or [])
        ]
    }


def _passes(group: dict[str, Any], filter_: dict[str, Any]) -> bool:
    name, wanted = filter_["Name"], filter_.get("Values") or []
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    if name.startswith("tag:"):
        values = [tags[name[4:]]] if name[4:] in tags else []
    elif name == "tag-key":
        values = list(tags)
    else:
        fields = {
            "group-name": "GroupName",
            "group-arn": "GroupArn",
            "state": "State",
            "strategy": "Strategy",
        }
        if name not in fields:
            raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
        values = [group[fields[name]]]
    return any(fnmatchcase(value, pattern) for value in values for pattern in wanted)


def delete_placement_group(call: Call) -> dict[str, Any]:
    name = call.params["GroupName"]
    if name not in call.region.placement_groups:
        raise AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    if name in call.region.placed.values():
        raise AwsError(
            "InvalidPlacementGroup.InUse",
            f"The placement group '{name}' is in use and may not be deleted.",
        )
    group = call.region.placement_groups.pop(name)
    network.backend(call.region_name).tags.pop(group["GroupId"], None)
    return {}


def create_tags(call: Call, moto: Callable[[], Reply]) -> Reply:
    """moto looks up what it tags, and does not know our groups."""
    ours = {group["GroupId"] for group in call.region.placement_groups.values()}
    wanted = call.params.get("Resources") or []
    if not ours.intersection(wanted):
        return moto()
    tags = {tag["Key"]: tag.get("Value") for tag in call.params.get("Tags") or []}
    ec2 = network.backend(call.region_name)
    if call.action == "CreateTags":
        ec2.create_tags(wanted, tags)
    else:
        ec2.delete_tags(wanted, tags)
    return written(call, {})


ANSWERS = {
    "CreatePlacementGroup": create_placement_group,
    "DescribePlacementGroups": describe_placement_groups,
    "DeletePlacementGroup": delete_placement_group,
}
AROUND = {"CreateTags": create_tags, "DeleteTags": create_tags}
