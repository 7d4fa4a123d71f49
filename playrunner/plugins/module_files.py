"""The file behind a module's name that is not one of ours: in library/, in a collection, or in
ansible-core itself."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from playrunner import project
from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.plugins import collections, folders
from playrunner.plugins.collections import BUILTIN, is_qualified, redirected, split_name

_SKIPPED = (".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".yml", ".yaml",
            ".ini", ".json")  # fmt: skip
_MODULE_NAME = re.compile(r"[A-Za-z_][\w.]{0,120}", re.ASCII)  # part of a path on this machine
_USES_LIBRARY = re.compile(
    rb"^\s*(?:from\s+ansible\.module_utils[\s.]|import\s+ansible\.module_utils\.|"
    rb"from\s+ansible_collections\.|from\s+\.+module_utils)",
    re.MULTILINE,
)
OLD_INCLUDE = b"#<<INCLUDE_ANSIBLE_MODULE_COMMON>>"
JSON_INSIDE = b"<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"
_BINARY_SHARE = 0.3  # of bytes that no text has, as Ansible counts


@frozen
class ModuleFile:
    """A module written for Ansible."""

    name: str  # community.general.ini_file; library.NAME for one beside a playbook
    path: Path
    action: Path | None = None  # its half for the controller

    @property
    def dotted(self) -> str:
        """The name under which its code is imported."""
        if self.name.startswith("library."):
            return f"ansible.modules.{self.path.stem}"
        collection, leaf = split_name(self.name)
        if collection == BUILTIN:
            return f"ansible.modules.{leaf}"
        return f"ansible_collections.{collection}.plugins.modules.{leaf}"


def find_module(name: str) -> ModuleFile | None:
    """The module a task names, where it is none of ours; None if there is none."""
    if not _MODULE_NAME.fullmatch(name):
        return None
    return _qualified(name) if is_qualified(name) else _core_or_redirect(name)


def in_collections(name: str, searched: tuple[str, ...]) -> ModuleFile | None:
    """A short name in the collections that a playbook names with `collections`."""
    for collection in searched:
        if collection in (BUILTIN, "ansible.legacy"):
            return None  # ours come next
        found = _qualified(f"{collection}.{name}")
        if found:
            return found
    return None


def in_library(name: str) -> ModuleFile | None:
    """A module of library/, which wins over ours of the same short name."""
    name = name.removeprefix("ansible.legacy.")
    if "." in name or not _MODULE_NAME.fullmatch(name):
        return None
    places, actions = folders.folders("module"), folders.folders("action")
    return _in_library(name, places, actions) if places or actions else None


@cache
def _in_library(
    name: str, places: tuple[Path, ...], action_places: tuple[Path, ...]
) -> ModuleFile | None:
    actions = [folder / f"{name}.py" for folder in action_places]
    action = next((path for path in actions if path.is_file()), None)
    for folder in places:
        for path in sorted(folder.rglob(f"{name}*")):
            if path.stem == name and path.is_file() and not path.name.endswith(_SKIPPED):
                return ModuleFile(f"library.{name}", path, action)
    return ModuleFile(f"library.{name}", action, action) if action else None


@cache
def _qualified(name: str) -> ModuleFile | None:
    name = re.sub(r"^ansible\.legacy\.", f"{BUILTIN}.", name)
    collection, leaf = split_name(redirected("modules", name))
    target = f"{collection}.{leaf}"
    if collection == BUILTIN:
        return _core(leaf)
    folder = collections.collection_folder(collection)
    if folder is None:
        return None
    stem = folder / "plugins/modules" / leaf.replace(".", "/")
    action: Path | None = folder / "plugins/action" / f"{leaf}.py"
    action = action if action and action.is_file() else None
    for candidate in (stem.with_name(stem.name + ".py"), stem):
        if candidate.is_file():
            return ModuleFile(target, candidate, action)
    others = [
        path for path in stem.parent.glob(f"{stem.name}.*") if not path.name.endswith(_SKIPPED)
    ]
    found = others[0] if others else action
    return ModuleFile(target, found, action) if found else None


def core_module(name: str) -> ModuleFile | None:
    """A module of ansible-core as it is, for action plugins, which name it themselves."""
    core, leaf = collections.ansible_folder(), name.rpartition(".")[2]
    path = core / "modules" / f"{leaf}.py" if core else None
    return ModuleFile(f"{BUILTIN}.{leaf}", path) if path and path.is_file() else None


def _core(name: str) -> ModuleFile | None:
    core = collections.ansible_folder()
    if not core or (core / "plugins/action" / f"{name}.py").is_file():
        return None  # half of such a module is the controller's, and written for Ansible's own
    path = core / "modules" / f"{name}.py"
    return ModuleFile(f"{BUILTIN}.{name}", path) if path.is_file() else None


@cache
def _core_or_redirect(name: str) -> ModuleFile | None:
    if not name.isidentifier():
        return None
    found = _core(name)
    if found:
        return found
    target = collections.builtin_redirect("modules", name)
    return _qualified(target) if target else None


def missing_module(name: str) -> str | None:
    """Why a full name leads nowhere, and what to install; None for a short one."""
    if not is_qualified(name):
        return None
    collection, leaf = split_name(name)
    if not collections.ansible_folder():
        return (
            f'the module "{name}" needs ansible-core beside this program:'
            f" {project.install_extra('ansible')}"
        )
    if collection == BUILTIN:
        return f'ansible-core has no module "{leaf}"'
    if collections.collection_folder(collection):
        return f'the collection {collection} has no module "{leaf}"'
    searched = ", ".join(map(str, folders.collection_roots())) or "no folder ansible_collections"
    return (
        f"the collection {collection} is not installed (looked in {searched}); run"
        f' "ansible-galaxy collection install {collection}"'
    )


def style_of(text: bytes) -> str:
    """How a module is run: "python" with Ansible's library, or as a program that gets its arguments
    as "json", as "words", or has them put "inside"."""
    if OLD_INCLUDE in text or _USES_LIBRARY.search(text):
        return "python"
    if JSON_INSIDE in text:
        return "inside"
    if b"WANT_JSON" in text or _is_binary(text):
        return "json"
    return "words"


def _is_binary(text: bytes) -> bool:
    start = text[:1024]
    if b"\0" in start:
        return True
    odd = start.translate(None, bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x100)) - {0x7F}))
    return bool(start) and len(odd) / len(start) > _BINARY_SHARE


@cache
def source(path: Path) -> bytes:
    return path.read_bytes()


def check_runnable(module: ModuleFile) -> None:
    if module.path.suffix in (".ps1", ".psm1"):
        raise BadInput(f"{module.path}: modules in PowerShell run on Windows hosts only")
    needs_library = module.action or style_of(source(module.path)) == "python"
    if needs_library and not collections.ansible_folder():
        raise BadInput(
            f'the module "{module.name}" ({module.path}) uses the library of ansible-core:'
            f" {project.install_extra('ansible')}"
        )
