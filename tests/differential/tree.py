"""A folder as plain values: kind, mode, content and link target of everything in it, with
run-specific paths named."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

# Longer content is recorded as its hash: a mismatch of short text can be read in the test's output
SHOWN_BYTES = 3000


def read_tree(
    root: Path, names: dict[str, str], uncompared: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    """Relative path -> [kind, mode, content or target]; `names` maps text of this run to its
    placeholder.

    Of folders whose names are in `uncompared` only the folder itself is told."""
    found: dict[str, list[str]] = {}
    for folder, subfolders, files in os.walk(root):
        for name in sorted(subfolders + files):
            path = Path(folder, name)
            found[_named(str(path.relative_to(root)), names)] = _describe(path, names)
        subfolders[:] = [name for name in subfolders if name not in uncompared]
    return dict(sorted(found.items()))


def _describe(path: Path, names: dict[str, str]) -> list[str]:
    status = path.lstat()
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    if stat.S_ISLNK(status.st_mode):
        return ["link", "", _named(os.readlink(path), names)]
    if stat.S_ISDIR(status.st_mode):
        return ["folder", mode, ""]
    if not stat.S_ISREG(status.st_mode):
        return ["other", mode, ""]
    return ["file", mode, _content(path.read_bytes(), names)]


def _content(data: bytes, names: dict[str, str]) -> str:
    try:
        text = _named(data.decode(), names)
    except UnicodeDecodeError:
        return "sha256:" + hashlib.sha256(data).hexdigest()
    return (
        text if len(text) <= SHOWN_BYTES else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    )


def _named(text: str, names: dict[str, str]) -> str:
    for value, placeholder in names.items():
        text = text.replace(value, placeholder)
    return text
