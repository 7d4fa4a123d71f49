"""The marker of a complete checkpoint: the names, sizes and checksums of all its files, written
last.

A folder without one, or with files that differ from it, is never loaded. It also names the attempt
(one line of training from its start through all its resumes) and the launch that saved it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from trainer.frozen import frozen

MARKER = "complete.json"
STATE = "state.json"
# What mounts of object stores answer to a rename of a folder
_NO_RENAME = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EXDEV, errno.EPERM, errno.EINVAL)
# And to a sync of one
_NO_SYNC = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EBADF)
# A server that was restarted or a lost answer; the next try opens the file anew
_TRANSIENT = (errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN)
_TRIES, _PAUSE_SECONDS = 3, 1.0


@frozen
class Origin:
    """Which checkpoint a marker belongs to; markers written by earlier versions have no attempt."""

    step: int
    attempt: str = ""
    launch: str = ""
    saved: float = 0.0


def origin_of(marker: bytes) -> Origin | None:
    """What a marker says of itself, or nothing when it cannot be read."""
    try:
        value = json.loads(marker)
        return Origin(
            int(value["step"]),
            str(value.get("attempt", "")),
            str(value.get("launch", "")),
            float(value.get("saved", 0.0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def read_origin(folder: Path) -> Origin | None:
    try:
        return origin_of((folder / MARKER).read_bytes())
    except OSError:
        return None


def damage(folder: Path, checksums: bool = True) -> str:
    """What is wrong with a checkpoint, or nothing."""
    for attempt in range(_TRIES):
        try:
            return _damage(folder, checksums)
        except OSError as error:
            if error.errno not in _TRANSIENT or attempt == _TRIES - 1:
                return f"{Path(error.filename or folder).name} cannot be read: {error.strerror}"
            time.sleep(_PAUSE_SECONDS)
    raise AssertionError("not reached")


def _damage(folder: Path, checksums: bool) -> str:
    try:
        files = {
            str(name): (int(size), int(crc32))
            for name, (size, crc32) in json.loads((folder / MARKER).read_bytes())["files"].items()
        }
    except (FileNotFoundError, NotADirectoryError):
        return f"incomplete, it has no {MARKER}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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
    """Give a folder that is whole its final name, such that it is there after a power cut too.

    Where folders cannot be renamed (mounts of object stores) its files are copied, the marker last,
    so that it is complete or not there all the same.
    """
    for folder in (*(path for path in partial.rglob("*") if path.is_dir()), partial):
        _sync_folder(folder)
    if final.exists():  # moved first and removed last: a kill in between loses neither
        earlier = final.with_name(f".{final.name}.replaced")
        shutil.rmtree(earlier, ignore_errors=True)
        os.rename(final, earlier)
    else:
        earlier = None
    _rename(partial, final)
    _sync_folder(final.parent)
    if earlier:
        shutil.rmtree(earlier, ignore_errors=True)


def _rename(partial: Path, final: Path) -> None:
    marker = (partial / MARKER).read_bytes() if (partial / MARKER).exists() else None
    try:
        os.rename(partial, final)
    except OSError as error:
        # NFS sends a request again when the answer was lost; the second one then fails
        if not partial.exists() and marker and (final / MARKER).read_bytes() == marker:
            return
        if error.errno not in _NO_RENAME:
            raise
        _copy(partial, final)


def _copy(partial: Path, final: Path) -> None:
    files = sorted(
        (path for path in partial.rglob("*") if path.is_file()),
        key=lambda path: path == partial / MARKER,
    )
    for path in files:
        target = final / path.relative_to(partial)
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 22)
            file.flush()
            os.fsync(file.fileno())
    shutil.rmtree(partial, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def settled(path: Path) -> list[int]:
    """Sync a file to disk and return its fingerprint; the library that wrote it may not have
    synced it, and another NFS client sees it a moment later."""
    for attempt in range(_TRIES):
        try:
            with path.open("rb") as file:
                os.fsync(file.fileno())
            return _fingerprint(path)
        except OSError as error:
            if error.errno not in (*_TRANSIENT, errno.ENOENT) or attempt == _TRIES - 1:
                raise
            time.sleep(_PAUSE_SECONDS)
    raise AssertionError("not reached")


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
