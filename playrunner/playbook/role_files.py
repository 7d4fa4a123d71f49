"""Where a role is, and its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playrunner import project
from playrunner.config.ansible_config import ansible_config
from playrunner.errors import BadInput, NoSuchRole, Place
from playrunner.plugins.collections import role_folder
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import Located, read_variables
from playrunner.text.layered import Layered

_USUAL_FOLDERS = ("~/.ansible/roles", "/usr/share/ansible/roles", "/etc/ansible/roles")


def find_role(
    name: str,
    place: Place,
    play_directory: Path,
    beside: Path | None = None,
    in_collections: tuple[str, ...] = (),
) -> Path:
    """The folder of a role, looked for as Ansible does: in collections, beside the playbook, in
    roles_path, beside the role that names it; then in the project's roles and in those that come
    with the package."""
    shared = role_folder(name, in_collections)
    if shared:
        return shared
    configured = ansible_config().paths("roles_path") or [
        Path(os.path.expanduser(folder)) for folder in _USUAL_FOLDERS
    ]
    folders = [
        play_directory / "roles",
        *configured,
        *([beside.parent] if beside else []),
        play_directory,
        Path.cwd() / "roles",
        play_directory.parent / "roles",
        project.bundled() / "roles",
    ]
    if "/" in name:
        folders.append(Path.cwd())
        name = os.path.expanduser(name)
    for spelled in dict.fromkeys((name, name.replace("-", "_"))):
        for folder in folders:
            # As Ansible does: ".." in a role's name leaves folders that need not be there
            path = os.path.normpath(folder / spelled)
            if os.path.isdir(path):
                return Path(path)
    names = sorted(
        {
            path.name
            for folder in (folders[0], *folders[-3:])
            if folder.is_dir()
            for path in folder.iterdir()
            if path.is_dir()
        }
    )
    looked_in = f"looked in {', '.join(dict.fromkeys(map(str, folders)))}"
    raise NoSuchRole(f'there is no role "{name}"{did_you_mean(name, names, looked_in)}', place)


def main_file(role: Path, folder: str, name: str) -> Path | None:
    """A file of one of a role's folders, with or without an ending; for variables also a folder."""
    for suffix in (".yml", ".yaml", ".json", ""):
        candidate = role / folder / f"{name}{suffix}"
        if os.path.isfile(candidate) or (
            os.path.isdir(candidate) and folder in ("vars", "defaults")
        ):
            return candidate
    return None


def variables_file(role: Path, folder: str, name: str, place: Place) -> dict[str, Any]:
    """A role's defaults or vars: one file, or a folder of files that add up in order of their
    names."""
    source = main_file(role, folder, name)
    if source is None:
        if name != "main":
            raise BadInput(f'role "{role.name}" has no {folder}/{name}', place)
        return {}
    merged = Layered()
    for file in sorted(source.iterdir()) if source.is_dir() else [source]:
        value = read_variables(file) or {}
        if not isinstance(value, Located | dict):
            raise BadInput(
                "a file of variables holds a mapping of names to values", Place(str(file), 1)
            )
        merged.add(value)
    return merged
