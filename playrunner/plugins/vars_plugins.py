"""Vars plugins written for Ansible: variables of hosts and groups from anywhere."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.plugins import ansible_library, folders
from playrunner.plugins.values import as_data


def variables_from_plugins(
    kind: str, name: str, folder: Path
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name and file of each plugin with the variables it gives a host or group."""
    if not folders.has_any("vars"):
        return
    for plugin_name, file in _files(folders.folders("vars")):
        yield plugin_name, str(file), _variables(plugin_name, file, kind, name, folder)


@cache
def _files(places: tuple[Path, ...]) -> tuple[tuple[str, Path], ...]:
    return tuple(
        (path.stem, path)
        for folder in places
        for path in sorted(folder.glob("*.py"))
        if not path.name.startswith("_")
    )


def _variables(plugin_name: str, file: Path, kind: str, name: str, folder: Path) -> dict[str, Any]:
    with ansible_library.lock():
        try:
            plugin: Any = ansible_library.loader("vars").get(plugin_name)
            enabled = os.environ.get("ANSIBLE_VARS_ENABLED", "").split(",")
            if plugin is None or (
                getattr(plugin, "REQUIRES_ENABLED", False) and plugin_name not in enabled
            ):
                return {}
            holder: Any = importlib.import_module(f"ansible.inventory.{kind}")
            entity = getattr(holder, kind.capitalize())(name)
            reader = ansible_library.data_loader(str(folder))
            variables = plugin.get_vars(reader, str(folder.absolute()), [entity])
        except PlayrunnerError:
            raise
        except Exception as error:  # Ansible's errors, and the plugin's own
            raise BadInput(f"{file}: the vars plugin failed for {kind} {name}: {error}") from None
    values: dict[str, Any] = as_data(variables or {})
    return values
