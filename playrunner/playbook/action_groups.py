"""Action groups: the modules that a `group/NAME` of module_defaults stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from playrunner.playbook import module_index
from playrunner.plugins import collections

_OF_CORE = ("ansible.builtin.", "ansible.legacy.")  # which have other names here


def is_known(group: str) -> bool:
    """Whether there is such a group; those of ansible-core are not known where it is missing."""
    home, leaf = _parts(group)
    if home == collections.BUILTIN and not collections.ansible_folder():
        return True
    return leaf in collections.action_groups(home)


def has_member(group: str, module: str) -> bool:
    """Whether a group (`group/amazon.aws.aws`) stands for a module."""
    if module in _members(group):
        return True
    of_core = (name for name in _members(group) if name.startswith(_OF_CORE))
    return any(module_index.canonical(name) == module for name in of_core)


@cache
def _members(group: str) -> frozenset[str]:
    return frozenset(_all_members(group, set()))


def _all_members(group: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Full names; a group may extend others, which may extend it."""
    home, leaf = _parts(group)
    members = collections.action_groups(home).get(leaf)
    if (home, leaf) in seen or not isinstance(members, list):
        return
    seen.add((home, leaf))
    for member in members:
        if isinstance(member, Mapping):
            for extended in _extended(member):
                yield from _all_members(_full(extended, home), seen)
        else:
            yield _full(str(member), home)


def _extended(member: Mapping[str, Any]) -> list[str]:
    metadata = member.get("metadata")
    extended = metadata.get("extend_group", []) if isinstance(metadata, Mapping) else []
    return [extended] if isinstance(extended, str) else list(extended)


def _full(name: str, home: str) -> str:
    return name if collections.is_qualified(name) else f"{home}.{name}"


def _parts(group: str) -> tuple[str, str]:
    """Its collection and its name there; a short name is one of ansible-core's."""
    return collections.split_name(_full(group.removeprefix("group/"), collections.BUILTIN))
