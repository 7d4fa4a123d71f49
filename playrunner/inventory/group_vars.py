"""`group_vars/` and `host_vars/` beside an inventory or a playbook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.value import Values, values_of
from playrunner.plugins.vars_plugins import variables_from_plugins
from playrunner.text.documents import decrypted_text, parse_json, read_text, read_variables
from playrunner.text.written import all_written

# In this order; the first that exists is the one that counts.
ENDINGS = ("", ".yml", ".yaml", ".json")


class VarsFolder:
    """One folder such as inventories/group_vars; each file in it is read once, when it is first
    asked for."""

    def __init__(self, folder: Path, label: str) -> None:
        self.folder, self.label = folder, label
        self._names = frozenset(_listing(folder))
        self._read: dict[str, list[tuple[str, Values]]] = {}

    def layers(self, name: str) -> list[tuple[str, Values]]:
        """The variables of a group or host: one layer per file, later files override earlier
        ones."""
        layers = self._read.get(name)
        if layers is None:
            layer = f"{self.label}/{name}"
            layers = [(layer, _read_values(file, layer)) for file in self._files(name)]
            kind = "host" if self.folder.name == "host_vars" else "group"
            for plugin, file, values in variables_from_plugins(kind, name, self.folder.parent):
                layers.append((plugin, values_of(values, f"vars plugin {plugin}", Place(file))))
            self._read[name] = layers
        return layers

    def _files(self, name: str) -> list[Path]:
        for ending in ENDINGS:
            if name + ending in self._names:
                path = self.folder / (name + ending)
                return _files_below(path) if path.is_dir() else [path]
        return []


class VarsDirectory:
    """The two folders of variables in one directory."""

    def __init__(self, directory: Path, prefix: str = "") -> None:
        self.directory = directory
        self.group_vars = VarsFolder(directory / "group_vars", prefix + "group_vars")
        self.host_vars = VarsFolder(directory / "host_vars", prefix + "host_vars")


def _listing(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise BadInput(f"the folder cannot be read: {error.strerror}", Place(str(folder))) from None


def _files_below(folder: Path) -> list[Path]:
    files: list[Path] = []
    for name in _listing(folder):
        path = folder / name
        if name.startswith(".") or name.endswith("~"):
            continue
        if path.is_dir():
            files += _files_below(path)
        elif path.suffix in ENDINGS:
            files.append(path)
    return files


def _read_values(path: Path, layer: str) -> Values:
    data = _parse(path)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadInput(
            "a file of variables is a mapping; write each as `name: value`", Place(str(path), 1)
        )
    return values_of(data, layer, Place(str(path)))


def _parse(path: Path) -> Any:
    try:
        return read_variables(path)
    except BadInput:
        if path.suffix != ".json":
            raise
        # JSON allows escapes, such as \/, that YAML does not.
        return all_written(parse_json(decrypted_text(read_text(path), path), str(path)))
