"""Tags: every service spells them differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.cloud.owner import CLUSTER, Owner
from playrunner.hostside.module import Failed
from playrunner.project import program

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
    """The one whose Name tag is this."""
    matches = [item for item in items if plain(item.get("Tags")).get("Name") == name]
    if len(matches) > 1:
        raise Failed(
            f'{len(matches)} resources tagged as ours are named "{name}"; "{program()} audit" lists'
            " them"
        )
    return dict(matches[0]) if matches else None
