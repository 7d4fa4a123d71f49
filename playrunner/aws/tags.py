"""Tags: every service spells them differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.cloud.owner import CLUSTER, RUN, Owner

# In the descriptions of roles, which IAM lists without their tags.
DESCRIBED = "(playrunner "
# In a state: the ids of other things that have the same name and our tag.
DUPLICATES = "playrunner:duplicates"
_IDS = (
    "AllocationId",
    "AccessPointId",
    "InstanceId",
    "NatGatewayId",
    "InternetGatewayId",
    "RouteTableId",
    "VpcEndpointId",
    "SubnetId",
    "FileSystemId",
    "GroupId",
    "VpcId",
)
_SPELLINGS = (("Key", "Value"), ("key", "value"), ("TagKey", "TagValue"))


def plain(tags: Any) -> dict[str, str]:
    """A service's tags as a mapping, however it spells them."""
    if isinstance(tags, Mapping):
        return {str(key): str(value) for key, value in tags.items()}
    mapping = {}
    for tag in tags or ():
        key, value = next(spelling for spelling in _SPELLINGS if spelling[0] in tag)
        mapping[str(tag[key])] = str(tag.get(value, ""))
    return mapping


def spelled(
    tags: Mapping[str, str], key: str = "Key", value: str = "Value"
) -> list[dict[str, str]]:
    return [{key: name, value: text} for name, text in tags.items()]


def specification(kind: str, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """EC2's way of tagging a thing in the call that makes it."""
    return [{"ResourceType": kind, "Tags": spelled(tags)}]


def mine(owner: Owner) -> dict[str, Any]:
    """EC2's filter for resources tagged as ours."""
    return {"Filters": [{"Name": f"tag:{CLUSTER}", "Values": [owner.cluster]}]}


def named(items: Iterable[Mapping[str, Any]], name: str) -> dict[str, Any] | None:
    """The one whose Name tag is this. Of several, which a lost answer can leave, always the same
    one: what is in use before what is not, then the oldest; it names the others."""
    matches = [item for item in items if plain(item.get("Tags")).get("Name") == name]
    if not matches:
        return None
    first, *others = sorted(matches, key=_rank)
    return {**first, DUPLICATES: [_id(item) for item in others]} if others else dict(first)


def _rank(item: Mapping[str, Any]) -> tuple[bool, str, str]:
    used = any(item.get(field) for field in ("AssociationId", "Attachments", "Associations"))
    return not used, plain(item.get("Tags")).get(RUN, ""), _id(item)


def _id(item: Mapping[str, Any]) -> str:
    return next((str(item[field]) for field in _IDS if item.get(field)), "")
