"""Where a file is written before it is whole: without a name, where the system has such files, so
that it goes with the process however that ends; else beside its place."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def scrap_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".playrunner-{os.getpid()}-{time.monotonic_ns()}")


_can_name: dict[int, bool] = {}  # whether a file without a name can get one, by device


def unnamed(folder: str, scrap: str) -> Optional[int]:
    """An open file without a name; None where there are none, or where they could not be named."""
    device = os.stat(folder).st_dev
    if device not in _can_name:
        _can_name[device] = False
        fd = _opened_without_name(folder)
        if fd is None:
            return None
        try:
            link(fd, scrap)
            os.unlink(scrap)
            _can_name[device] = True
        except OSError:
            pass
        finally:
            os.close(fd)
    return _opened_without_name(folder) if _can_name[device] else None


def _opened_without_name(folder: str) -> Optional[int]:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # a named one shows what else is wrong
        return None


def created(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags, 0o600)


def link(fd: int, path: str) -> None:
    # Only with a folder's descriptor (not used, as the path is absolute) Python has links followed
    os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)
