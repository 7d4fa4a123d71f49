"""The marker of a complete checkpoint: the names, sizes and checksums of all its files, written
last.

A folder without one, or with files that differ from it, is never loaded.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

MARKER = "complete.json"


def damage(folder: Path, checksums: bool = True) -> str:
    """What is wrong with a checkpoint, or nothing."""
    try:
        files = {
            str(name): (int(size), int(crc32))
            for name, (size, crc32) in json.loads((folder / MARKER).read_text())["files"].items()
        }
    except FileNotFoundError:
        return f"incomplete, it has no {MARKER}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"its {MARKER} is cut short"
    for name, (size, crc32) in files.items():
        path = folder / name
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            return f"its {MARKER} names files outside the checkpoint"
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, not {size}"
        if checksums and _fingerprint(path)[1] != crc32:
            return f"{name} is damaged: its checksum differs"
    return ""


def put_in_place(partial: Path, final: Path) -> None:
    """Give a folder that is whole its final name, such that it is there after a power cut too."""
    for folder in (*(path for path in partial.rglob("*") if path.is_dir()), partial):
        _sync_folder(folder)
    if final.exists():  # the same step again, after a damaged one was passed over
        shutil.rmtree(final)
    os.rename(partial, final)
    _sync_folder(final.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def settled(path: Path) -> list[int]:
    """Sync a file to disk and return its fingerprint; the library that wrote it may not have
    synced it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return _fingerprint(path)


def write_json(path: Path, value: Any) -> None:
    with path.open("w") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def _fingerprint(path: Path) -> list[int]:
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return [size, crc]
