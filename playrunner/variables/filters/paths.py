"""Filters on file paths; they look at the controller, not at the host."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from typing import Any


def splitext(path: str) -> list[str]:
    return list(os.path.splitext(path))


def relpath(path: str, start: str = os.curdir) -> str:
    return os.path.relpath(path, start)


def path_join(parts: Any) -> str:
    return os.path.join(parts) if isinstance(parts, str) else os.path.join(*parts)


def commonpath(paths: list[str]) -> str:
    return os.path.commonpath(paths)


def fileglob(pattern: str) -> list[str]:
    """The files, not the folders, that a pattern matches."""
    import glob

    return [found for found in glob.glob(pattern) if os.path.isfile(found)]


def win_basename(path: str) -> str:
    import ntpath

    return ntpath.basename(path)


def win_dirname(path: str) -> str:
    import ntpath

    return ntpath.dirname(path)


FILTERS: dict[str, Callable[..., Any]] = {
    "basename": os.path.basename,
    "dirname": os.path.dirname,
    "splitext": splitext,
    "expanduser": os.path.expanduser,
    "expandvars": os.path.expandvars,
    "normpath": os.path.normpath,
    "relpath": relpath,
    "path_join": path_join,
    "commonpath": commonpath,
    "win_basename": win_basename,
    "win_dirname": win_dirname,
    "realpath": os.path.realpath,
    "fileglob": fileglob,
}

# What these say depends on files that an earlier step may still be making.
READ_FILES = frozenset({"realpath", "fileglob"})
