"""Where the files of a role are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.text.documents import Located, read_variables
from playrunner.text.layered import Layered


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
