"""EC2 placement groups: by name, tagged, and not deletable while an instance is in them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from playrunner.sandbox.aws.api.wire import AwsError, Call, Reply, written
from playrunner.sandbox.aws.api.world import ACCOUNT
from playrunner.sandbox.aws.ec2 import network


def create_placement_group(call: Call) -> dict[str, Any]:
    wish, groups = call.params, call.region.placement_groups
    name, strategy = wish.get("GroupName"), wish.get("Strategy") or "cluster"
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
        "PartitionCount": (wish.get("PartitionCount") or 2) if strategy == "partition" else None,
        "SpreadLevel": (wish.get("SpreadLevel") or "rack") if strategy == "spread" else None,
    }
    tags = {
        tag["Key"]: tag["Value"]
        for spec in wish.get("TagSpecifications") or []
        for tag in spec.get("Tags") or []
    }
    network.backend(call.region_name).create_tags([group_id], tags)
    return {"PlacementGroup": described(call, groups[name])}


def described(call: Call, group: dict[str, Any]) -> dict[str, Any]:
    """A group with its tags, which EC2 keeps by id."""
    tags = network.backend(call.region_name).tags.get(group["GroupId"], {})
    return {**group, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def describe_placement_groups(call: Call) -> dict[str, Any]:
    wish, groups = call.params, call.region.placement_groups
    for name in wish.get("GroupNames") or []:
        if name not in groups:
            raise AwsError(
                "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown."
            )
    found = [
        described(call, one)
        for one in groups.values()
        if (not wish.get("GroupNames") or one["GroupName"] in wish["GroupNames"])
        and (not wish.get("GroupIds") or one["GroupId"] in wish["GroupIds"])
    ]
    return {
        "PlacementGroups": [
            one
            for one in found
            if all(_passes(one, filter_) for filter_ in wish.get("Filters") or [])
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
