"""Where the files of a role are."""

from __future__ import annotations

import os
from pathlib import Path


def main_file(role: Path, folder: str, name: str) -> Path | None:
    """A file of one of a role's folders, with or without an ending; for variables also a folder."""
    for suffix in (".yml", ".yaml", ".json", ""):
        candidate = role / folder / f"{name}{suffix}"
        if os.path.isfile(candidate) or (
            os.path.isdir(candidate) and folder in ("vars", "defaults")
        ):
            return candidate
    return None
