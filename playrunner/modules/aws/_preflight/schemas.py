"""The structured variables of AWS roles: which keys they have, of which types, and what does not go
together. Checked before anything is asked of AWS."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from playrunner.modules.aws._efa import CARDS
from playrunner.text.did_you_mean import did_you_mean

_TEXT, _NUMBER, _FLAG = "text", "a whole number", "true or false"
_LIST, _MAPPING = "a list", "a mapping"
NODE_GROUP = {
    "name": _TEXT,
    "instance_types": _LIST,
    "capacity_type": _TEXT,
    "min_size": _NUMBER,
    "max_size": _NUMBER,
    "desired_size": _NUMBER,
    "shrink": _FLAG,
    "ami_type": _TEXT,
    "disk_gib": _NUMBER,
    "labels": _MAPPING,
    "taints": _LIST,
    "tags": _MAPPING,
    "efa": _FLAG,
    "one_zone": _FLAG,
    "subnets": _LIST,
    "capacity_reservation_id": _TEXT,
    "key_name": _TEXT,
    "max_unavailable": _NUMBER,
    "replace": _FLAG,
    "local_storage": _TEXT,
}
_IDENTITY = {"name": _TEXT, "namespace": _TEXT, "policies": _LIST, "statements": _LIST}
_ADDON = {
    "name": _TEXT,
    "version": _TEXT,
    "configuration": _MAPPING,
    "service_account_role": _TEXT,
}
# Lists of mappings, by the variable that has them: the keys, and those that must be given.
LISTS: dict[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "eks_nodegroups": (NODE_GROUP, ("name", "instance_types")),
    "eks_service_accounts": (_IDENTITY, ("name",)),
    "eks_pod_identities": (_IDENTITY, ("name",)),
    "eks_access": ({"principal": _TEXT, "policies": _LIST, "groups": _LIST}, ("principal",)),
    "eks_addons": (_ADDON, ("name",)),
    "eks_addons_on_nodes": (_ADDON, ("name",)),
    "efs_access_points": (
        {"name": _TEXT, "path": _TEXT, "uid": _NUMBER, "gid": _NUMBER, "permissions": _TEXT},
        ("name",),
    ),
}
_TAINT = {"key": _TEXT, "value": _TEXT, "effect": _TEXT}
_CHOICES = {
    "capacity_type": ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK"),
    "local_storage": ("RAID0", "Mount"),
    "effect": ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"),
}
NAT = ("none", "one", "per_zone")
# Graviton: the letter after the generation is a g, as in m7g, c6gn and g5g.
_ARM = re.compile(r"(a1|[a-z]+\d+g[a-z]*|p6e-gb200)\.")


def is_arm(instance_type: str) -> bool:
    return _ARM.match(instance_type) is not None


def complaints(declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with variables: the variable, and a text that says where in it and how to mend
    it."""
    for name, value in declared.items():
        if name in LISTS:
            keys, needed = LISTS[name]
            for text in _list(value, keys, needed):
                yield name, text
    nat = declared.get("network_nat")
    if nat is not None and nat not in NAT:
        yield "network_nat", f"is {_quoted(nat)}, not {' or '.join(NAT)}{did_you_mean(nat, NAT)}"
    tags = declared.get("eks_tags")
    if tags is not None and not isinstance(tags, Mapping):
        yield "eks_tags", f"is {_quoted(tags)}; it takes {_MAPPING}"
    groups = declared.get("eks_nodegroups")
    for group in groups if isinstance(groups, list) else ():
        if isinstance(group, Mapping):
            for text in _combinations(group, nat):
                yield "eks_nodegroups", f"{_named(group)}: {text}"


def _list(value: Any, keys: Mapping[str, str], needed: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"is {_quoted(value)}; it takes a list of {{{', '.join(keys)}}}"
        return
    for place, entry in enumerate(value, 1):
        if not isinstance(entry, Mapping):
            yield f"entry {place} is {_quoted(entry)}; it takes {{{', '.join(keys)}}}"
            continue
        where = _named(entry, f"entry {place}")
        for key in needed:
            if not entry.get(key):
                yield f"{where}: {key} is missing"
        for text in _entry(entry, keys):
            yield f"{where}: {text}"
        for taint in entry.get("taints") or () if keys is NODE_GROUP else ():
            for text in _entry(taint, _TAINT) if isinstance(taint, Mapping) else ("is no mapping",):
                yield f"{where}: taints: {text}"


def _entry(entry: Mapping[str, Any], keys: Mapping[str, str]) -> Iterator[str]:
    for key, value in entry.items():
        if key not in keys:
            yield f'there is no key "{key}"{did_you_mean(key, keys)}'
        elif value is not None and not _is(value, keys[key]):
            yield f"{key} is {_quoted(value)}; it takes {keys[key]}"
        elif key in _CHOICES and value is not None and value not in _CHOICES[key]:
            yield f"{key} is {_quoted(value)}; it can be {', '.join(_CHOICES[key])}"


def _is(value: Any, kind: str) -> bool:
    if kind == _TEXT:
        return isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if kind == _NUMBER:
        text = str(value).strip()
        return not isinstance(value, bool) and text.isascii() and text.isdigit()
    if kind == _FLAG:
        return isinstance(value, bool) or str(value).lower() in ("true", "false", "yes", "no")
    return isinstance(value, list if kind == _LIST else Mapping)


def _combinations(group: Mapping[str, Any], nat: Any) -> Iterator[str]:
    """What AWS would refuse or never bring up."""
    types = [str(kind) for kind in group.get("instance_types") or ()]
    efa = str(group.get("efa") or "").lower() in ("true", "yes")
    first = types[0] if types else ""
    if efa and len(types) > 1:
        yield f"with efa there is one instance type, not {len(types)}"
    if efa and nat == "none" and CARDS.get(first, 0) > 1:
        yield (
            f"{first} has {CARDS[first]} EFA cards, and a machine with several gets no public"
            " address: with network_nat: none it never reaches the cluster; set network_nat: one"
        )
    if group.get("capacity_type") == "CAPACITY_BLOCK":
        if not group.get("capacity_reservation_id"):
            yield "capacity_type: CAPACITY_BLOCK needs the capacity_reservation_id of the block"
        if len(types) > 1:
            yield "a capacity block has one instance type; instance_types takes that one"
    image = str(group.get("ami_type") or "")
    if group.get("local_storage") and image and not image.startswith("AL2023"):
        yield f"local_storage is read by the images of AL2023, not by {image}"
    yield from _about_images(types, image)
    yield from _about_sizes(group)


def _about_images(types: Iterable[str], image: str) -> Iterator[str]:
    arm = {is_arm(kind) for kind in types}
    if len(arm) > 1:
        yield "its instance_types have different processors (x86 and Graviton): make two groups"
    elif arm and image and not image.startswith("CUSTOM"):
        wanted = "ARM_64" if arm == {True} else "x86_64"
        if ("ARM_64" in image.upper()) != (arm == {True}):
            yield f"ami_type {image} does not start on {', '.join(types)}: take one with {wanted}"


def _about_sizes(group: Mapping[str, Any]) -> Iterator[str]:
    sizes = [group.get(name) for name in ("min_size", "desired_size", "max_size")]
    known = [int(size) for size in sizes if size is not None and _is(size, _NUMBER)]
    if known != sorted(known):
        yield "min_size, desired_size and max_size are not in this order of size"


def _named(entry: Mapping[str, Any], otherwise: str = "an entry") -> str:
    return str(entry.get("name") or entry.get("principal") or otherwise)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
