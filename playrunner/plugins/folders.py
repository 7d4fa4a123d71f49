"""Where plugins are looked for: beside the playbooks and in the roles that were loaded, then what
ANSIBLE_* or ansible.cfg name, else the user's and the machine's folders."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from playrunner.config.ansible_config import ansible_config
from playrunner.frozen import frozen


@frozen
class Kind:
    """A kind of plugin: its folder beside a playbook, its setting, its folder of a user."""

    folder: str
    variable: str
    user_folder: str


KINDS = {
    "module": Kind("library", "ANSIBLE_LIBRARY", "modules"),
    "module_utils": Kind("module_utils", "ANSIBLE_MODULE_UTILS", "module_utils"),
    "filter": Kind("filter_plugins", "ANSIBLE_FILTER_PLUGINS", "filter"),
    "test": Kind("test_plugins", "ANSIBLE_TEST_PLUGINS", "test"),
    "lookup": Kind("lookup_plugins", "ANSIBLE_LOOKUP_PLUGINS", "lookup"),
    "action": Kind("action_plugins", "ANSIBLE_ACTION_PLUGINS", "action"),
    "callback": Kind("callback_plugins", "ANSIBLE_CALLBACK_PLUGINS", "callback"),
    "vars": Kind("vars_plugins", "ANSIBLE_VARS_PLUGINS", "vars"),
    "inventory": Kind("inventory_plugins", "ANSIBLE_INVENTORY_PLUGINS", "inventory"),
}
_COLLECTIONS = "ansible_collections"
_added: dict[str, list[Path]] = {kind: [] for kind in KINDS}
_collection_roots: list[Path] = []


def add_playbook(folder: Path) -> None:
    """Plugins beside a playbook, and its collections/."""
    add_role(folder)
    collections = folder.absolute() / "collections"
    if collections not in _collection_roots and collections.is_dir():
        _collection_roots.append(collections)
        collection_roots.cache_clear()


def add_role(folder: Path) -> None:
    """Plugins of a role; like Ansible's, they are known to the whole run from then on."""
    for kind, described in KINDS.items():
        path = folder.absolute() / described.folder
        if path not in _added[kind] and path.is_dir():
            _added[kind].append(path)
            folders.cache_clear()


def has_any(kind: str) -> bool:
    return bool(folders(kind))


@cache
def folders(kind: str) -> tuple[Path, ...]:
    """The folders of a kind that exist, the ones that win first."""
    described = KINDS[kind]
    configured = _set_by_user((described.variable,), described.folder) or [
        Path.home() / ".ansible/plugins" / described.user_folder,
        Path("/usr/share/ansible/plugins") / described.user_folder,
    ]
    return tuple(path for path in dict.fromkeys([*_added[kind], *configured]) if path.is_dir())


@cache
def collection_roots() -> tuple[Path, ...]:
    """Every `ansible_collections` folder: the playbook's, the configured, the installed."""
    import sys

    variables = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_PATHS")
    configured = _set_by_user(variables, "collections_path") or [
        Path.home() / ".ansible/collections",
        Path("/usr/share/ansible/collections"),
    ]
    installed = [Path(path) for path in sys.path if path]
    roots = [
        path if path.name == _COLLECTIONS else path / _COLLECTIONS
        for path in (*_collection_roots, *configured, *installed)
    ]
    return tuple(path for path in dict.fromkeys(roots) if path.is_dir())


def _set_by_user(variables: tuple[str, ...], setting: str) -> list[Path]:
    """What a variable names, else ansible.cfg; -M of a command line is in the variable."""
    text = next(filter(None, map(os.environ.get, variables)), None)
    return _split(text) if text else ansible_config().paths(setting)


def _split(text: str) -> list[Path]:
    return [Path(os.path.expanduser(part)).absolute() for part in text.split(":") if part]
