"""A folder of data as its source has it: fetched, checked by size and count, and only then marked
as complete.

`.staging/` below the folder holds what is half done; `staged.json` is written last. Whoever finds
it can rely on the folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from trainer.checkpoint.manifest import write_json
from trainer.errors import BadInput
from trainer.staging.fetch import fetch
from trainer.staging.source import Remote, Source, open_source
from trainer.staging.unpack import is_archive, move_below, unpack

MARKER, WORK = "staged.json", ".staging"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    source: str
    target: Path
    unpack: bool = False
    files: int = 0  # exactly so many, where it is said
    least: int = 0  # at least so many: one for every process that reads
    size: int = 0  # exactly so many bytes in all, where it is said
    anonymous: bool = False
    region: str = ""


def stage(wish: Wish, say: Say) -> dict[str, Any]:
    """Bring the folder about; whether anything changed, and what is there."""
    source = open_source(wish.source, wish.anonymous, wish.region)
    offered = source.files()
    for one in offered:
        if PurePosixPath(one.name).is_absolute() or ".." in PurePosixPath(one.name).parts:
            raise BadInput(f"{wish.source}: {one.name} would land outside the folder")
    known = _marker(wish.target)
    if (
        known
        and known["source"] == _described(wish, offered)
        and not _damage(wish.target, known["files"])
    ):
        say(f"{wish.target} is complete: nothing to do")
        _check(wish, known["files"])
        return _told(wish, known["files"], changed=False)
    if known:
        say(f"{wish.target}: {_why_again(wish, known, offered)}; it is brought up to date")
        (wish.target / MARKER).unlink()
    files = _bring(wish, source, offered, say)
    _check(wish, files)
    write_json(wish.target / f".{MARKER}", {"source": _described(wish, offered), "files": files})
    os.replace(wish.target / f".{MARKER}", wish.target / MARKER)
    shutil.rmtree(wish.target / WORK, ignore_errors=True)
    return _told(wish, files, changed=True)


def _bring(wish: Wish, source: Source, offered: list[Remote], say: Say) -> dict[str, int]:
    """Every file of the source; those that were in place before an interruption are not fetched
    again."""
    work = wish.target / WORK
    work.mkdir(parents=True, exist_ok=True)
    done = _done(work)
    for number, one in enumerate(offered, 1):
        earlier = done.get(one.name)
        if (
            earlier
            and earlier["remote"] == asdict(one)
            and not _damage(wish.target, earlier["files"])
        ):
            continue
        say(f"{one.name} ({number} of {len(offered)}, {one.size} bytes)")
        part = work / "parts" / one.name
        fetch(source, one, part, say)
        if wish.unpack and is_archive(one.name):
            unpack(part, one.name, work / "unpacked")
            names = move_below(work / "unpacked", wish.target)
            part.unlink()
        else:
            (wish.target / one.name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, wish.target / one.name)
            names = [one.name]
        done[one.name] = {
            "remote": asdict(one),
            "files": {name: (wish.target / name).stat().st_size for name in names},
        }
        write_json(work / "done.new", done)
        os.replace(work / "done.new", work / "done.json")
    return {name: size for one in offered for name, size in done[one.name]["files"].items()}


def _check(wish: Wish, files: dict[str, int]) -> None:
    size = sum(files.values())
    if wish.files and len(files) != wish.files:
        raise BadInput(f"{wish.target}: {len(files)} files came, and {wish.files} were expected")
    if len(files) < wish.least:
        raise BadInput(
            f"{wish.target}: {len(files)} files came, and each of {wish.least} processes needs one"
            " of its own"
        )
    if wish.size and size != wish.size:
        raise BadInput(f"{wish.target}: {size} bytes came, and {wish.size} were expected")


def _described(wish: Wish, offered: list[Remote]) -> dict[str, Any]:
    return {
        "address": wish.source,
        "unpack": wish.unpack,
        "offered": [asdict(one) for one in offered],
    }


def _why_again(wish: Wish, known: dict[str, Any], offered: list[Remote]) -> str:
    if known["source"] != _described(wish, offered):
        return "its source is another or has changed"
    return _damage(wish.target, known["files"])


def _damage(target: Path, files: dict[str, int]) -> str:
    for name, size in files.items():
        path = target / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, not {size}"
    return ""


def _told(wish: Wish, files: dict[str, int], changed: bool) -> dict[str, Any]:
    return {
        "changed": changed,
        "folder": str(wish.target),
        "files": len(files),
        "bytes": sum(files.values()),
    }


def _marker(target: Path) -> dict[str, Any] | None:
    return _mapping(target / MARKER)


def _done(work: Path) -> dict[str, Any]:
    return _mapping(work / "done.json") or {}


def _mapping(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
