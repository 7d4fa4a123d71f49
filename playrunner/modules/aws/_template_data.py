"""A launch template's data as a state: lists become mappings, so that what EC2 fills in never shows
as a difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playrunner.aws.tags import plain, spelled

_Item = dict[str, Any]

# field: how an item of its list is named, and back
_KEYS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "BlockDeviceMappings": ("DeviceName", str),
    "NetworkInterfaces": ("NetworkCardIndex", int),
    "TagSpecifications": ("ResourceType", str),
}


def as_state(data: Mapping[str, Any]) -> dict[str, Any]:
    state = dict(data)
    for field, (key, _) in _KEYS.items():
        if data.get(field):
            state[field] = {str(item.get(key, 0)): _named(item, key) for item in data[field]}
    if state.get("SecurityGroupIds"):
        state["SecurityGroupIds"] = sorted(state["SecurityGroupIds"])
    return state


def as_data(state: Mapping[str, Any]) -> dict[str, Any]:
    """Back to EC2's spelling; what is None is left out."""
    data = {field: value for field, value in state.items() if value is not None}
    for field, (key, back) in _KEYS.items():
        if field in data:
            data[field] = [
                {key: back(name), **_spelled(item)} for name, item in data[field].items()
            ]
    return data


def _named(item: Mapping[str, Any], key: str) -> _Item:
    rest = {field: value for field, value in item.items() if field != key}
    if "Tags" in rest:
        rest["Tags"] = plain(rest["Tags"])
    if "Groups" in rest:
        rest["Groups"] = sorted(rest["Groups"])
    return rest


def _spelled(item: Mapping[str, Any]) -> _Item:
    return {**item, "Tags": spelled(item["Tags"])} if "Tags" in item else dict(item)
