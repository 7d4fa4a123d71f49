"""Filters on mappings: merging them, turning them into lists and back, picking from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, pass_environment

_LIST_MERGES = ("replace", "keep", "append", "prepend", "append_rp", "prepend_rp")


def combine(
    first: Any, *others: Any, recursive: bool = False, list_merge: str = "replace"
) -> dict[Any, Any]:
    """Mappings merged, later ones win; a list of mappings counts as its members."""
    if list_merge not in _LIST_MERGES:
        raise ValueError(f"list_merge is one of {', '.join(_LIST_MERGES)}, not {list_merge!r}")
    merged: dict[Any, Any] = {}
    for layer in _members((first, *others)):
        merged = _merge(merged, layer, recursive, list_merge)
    return merged


def dict2items(
    mapping: Any, key_name: str = "key", value_name: str = "value"
) -> list[dict[str, Any]]:
    """A list with one mapping per entry."""
    if not isinstance(mapping, Mapping):
        raise TypeError(f"needs a mapping, not a {type(mapping).__name__}")
    return [{key_name: key, value_name: value} for key, value in mapping.items()]


def items2dict(items: Any, key_name: str = "key", value_name: str = "value") -> dict[Any, Any]:
    """The mapping that `dict2items` was made from."""
    if isinstance(items, str | Mapping) or not hasattr(items, "__iter__"):
        raise TypeError(f"needs a list of mappings, not a {type(items).__name__}")
    mapping = {}
    for item in items:
        if not isinstance(item, Mapping):
            raise TypeError(f"needs a list of mappings, but it holds {item!r}")
        if key_name not in item or value_name not in item:
            raise KeyError(
                f"each mapping needs the keys {key_name!r} and {value_name!r}, which {dict(item)!r}"
                " has not"
            )
        mapping[item[key_name]] = item[value_name]
    return mapping


def rekey_on_member(data: Any, key: str, duplicates: str = "error") -> dict[Any, Any]:
    """Mappings by the value each has under one key."""
    if duplicates not in ("error", "overwrite"):
        raise ValueError(f"duplicates is 'error' or 'overwrite', not {duplicates!r}")
    by_value: dict[Any, Any] = {}
    for item in data.values() if isinstance(data, Mapping) else data:
        if not isinstance(item, Mapping):
            raise TypeError(f"needs mappings, but got {item!r}")
        if key not in item:
            raise KeyError(f"no key {key!r} in {dict(item)!r}")
        if item[key] in by_value and duplicates == "error":
            raise ValueError(f"two mappings have {item[key]!r} under {key!r}")
        by_value[item[key]] = item
    return by_value


@pass_environment
def extract(environment: Environment, key: Any, container: Any, morekeys: Any = None) -> Any:
    """What a container has under a key, and under further keys within that."""
    keys = (
        [key]
        if morekeys is None
        else [key, *(morekeys if isinstance(morekeys, list | tuple) else [morekeys])]
    )
    for each in keys:
        container = environment.getitem(container, each)
    return container


FILTERS: dict[str, Callable[..., Any]] = {
    "combine": combine,
    "dict2items": dict2items,
    "items2dict": items2dict,
    "rekey_on_member": rekey_on_member,
    "extract": extract,
}


def _members(values: tuple[Any, ...]) -> list[Mapping[Any, Any]]:
    members: list[Mapping[Any, Any]] = []
    for value in values:
        for member in value if isinstance(value, list | tuple) else [value]:
            if member is None:
                continue
            if not isinstance(member, Mapping):
                raise TypeError(f"needs mappings, but got {member!r}")
            members.append(member)
    return members


def _merge(
    low: Mapping[Any, Any], high: Mapping[Any, Any], recursive: bool, list_merge: str
) -> dict[Any, Any]:
    merged = dict(low)
    for key, value in high.items():
        old = merged.get(key)
        if recursive and isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merge(old, value, recursive, list_merge)
        elif isinstance(old, list) and isinstance(value, list):
            value = _merge_lists(old, value, list_merge)
        merged[key] = value
    return merged


def _merge_lists(low: list[Any], high: list[Any], how: str) -> list[Any]:
    if how == "keep":
        return low
    if how == "append":
        return low + high
    if how == "prepend":
        return high + low
    # The _rp forms let the upper list replace equal members of the lower one.
    if how == "append_rp":
        return [item for item in low if item not in high] + high
    if how == "prepend_rp":
        return high + [item for item in low if item not in high]
    return high
