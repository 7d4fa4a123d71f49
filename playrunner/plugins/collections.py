"""Collections: where one is, and what its meta/runtime.yml renames or retires."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.plugins import folders
from playrunner.text.documents import parse_yaml, read_yaml

BUILTIN = "ansible.builtin"
_NAME = re.compile(r"[a-z_]\w{0,60}\.[a-z_]\w{0,60}", re.ASCII)  # part of a path
_ROLE = re.compile(r"[\w.-]{1,120}", re.ASCII)
MOST_REDIRECTS = 10


@cache
def ansible_folder() -> Path | None:
    """The installed package of ansible-core, found without importing it."""
    spec = importlib.util.find_spec("ansible")
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return next((Path(path) for path in locations if (Path(path) / "module_utils").is_dir()), None)


def is_qualified(name: str) -> bool:
    return name.count(".") >= 2


def split_name(name: str) -> tuple[str, str]:
    """`community.general.ini_file` as its collection and the name in it."""
    namespace, collection, leaf = name.split(".", 2)
    return f"{namespace}.{collection}", leaf


def collection_folder(name: str) -> Path | None:
    """The folder of a collection such as community.general; the first that is found wins."""
    if not _NAME.fullmatch(name):
        return None
    namespace, leaf = name.split(".")
    for root in folders.collection_roots():
        if (root / namespace / leaf).is_dir():
            return root / namespace / leaf
    return None


def role_folder(name: str, searched: tuple[str, ...] = ()) -> Path | None:
    """A role of a collection: by its full name, or by a short one in the collections searched."""
    if is_qualified(name) and "/" not in name:
        searched, name = (split_name(name)[0],), split_name(name)[1]
    elif "." in name or "/" in name:
        return None
    if not _ROLE.fullmatch(name):
        return None
    for collection in searched:
        folder = collection_folder(collection)
        if folder and (folder / "roles" / name).is_dir():
            return folder / "roles" / name
    return None


def own_collection(role: Path) -> tuple[str, ...]:
    """The collection that a role belongs to; its short names are looked for there first."""
    parts = role.absolute().parts
    if len(parts) >= 5 and parts[-5] == "ansible_collections" and parts[-2] == "roles":
        return (f"{parts[-4]}.{parts[-3]}",)
    return ()


def redirected(kind: str, name: str) -> str:
    """The full name that a full name stands for after every redirect; a tombstone is bad input."""
    for _ in range(MOST_REDIRECTS):
        collection, leaf = split_name(name)
        if not _mentions(collection, leaf):
            return name
        entry = _routing(collection).get(kind, {}).get(leaf)
        if not isinstance(entry, Mapping):
            return name
        tombstone = entry.get("tombstone")
        if isinstance(tombstone, Mapping):
            text = tombstone.get("warning_text") or f"{name} was removed"
            raise BadInput(f"{name} was removed from {collection}: {text}")
        target = entry.get("redirect")
        if not isinstance(target, str):
            return name
        name = target if is_qualified(target) else f"{collection}.{target}"
    raise BadInput(f"{name}: meta/runtime.yml redirects in a circle")


def builtin_redirect(kind: str, name: str) -> str | None:
    """Where a short name of older Ansible lives today, such as docker_container; None if it never
    was one."""
    if not _mentions(BUILTIN, name):
        return None
    entry = _routing(BUILTIN).get(kind, {}).get(name)
    return redirected(kind, f"{BUILTIN}.{name}") if isinstance(entry, Mapping) else None


def action_groups(collection: str) -> Mapping[str, Any]:
    """The groups of modules that module_defaults can name, with their members."""
    runtime = _builtin_groups() if collection == BUILTIN else _runtime(collection)
    found = runtime.get("action_groups")
    return found if isinstance(found, Mapping) else {}


@cache
def _builtin_groups() -> Mapping[str, Any]:
    """Just that part of the file: all of it would take seconds to read as YAML."""
    part = re.search(
        r"^action_groups:\n.*?(?=^\w|\Z)", _runtime_text(BUILTIN), re.MULTILINE | re.DOTALL
    )
    return parse_yaml(part[0], str(_runtime_file(BUILTIN)), plain=True) if part else {}


def _routing(collection: str) -> Mapping[str, Mapping[str, Any]]:
    found = _runtime(collection).get("plugin_routing")
    return found if isinstance(found, Mapping) else {}


def _mentions(collection: str, leaf: str) -> bool:
    """Whether the file has such a key; reading thousands of lines as YAML would take seconds."""
    return re.search(rf"\b{re.escape(leaf)}[\"']?\s*:", _runtime_text(collection)) is not None


@cache
def _runtime_text(collection: str) -> str:
    file = _runtime_file(collection)
    return file.read_text(encoding="utf-8", errors="replace") if file and file.is_file() else ""


def _runtime_file(collection: str) -> Path | None:
    if collection == BUILTIN:
        core = ansible_folder()
        return core / "config/ansible_builtin_runtime.yml" if core else None
    folder = collection_folder(collection)
    return folder / "meta/runtime.yml" if folder else None


@cache
def _runtime(collection: str) -> Mapping[str, Any]:
    file = _runtime_file(collection)
    value = read_yaml(file) if file and file.is_file() else None
    return value if isinstance(value, Mapping) else {}
