"""A folder with the same data as its source: downloaded, checked by size and count, then marked as
complete.

`.staging/` below the folder holds work in progress; `staged.json` is written last and marks the
folder as complete.
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
class StagingRequest:
    source: str
    target: Path
    unpack: bool = False
    files: int = 0  # exact number, if given
    least: int = 0  # at least so many: one for every process that reads
    size: int = 0  # exact number of bytes, if given
    anonymous: bool = False
    region: str = ""


def stage(request: StagingRequest, say: Say) -> dict[str, Any]:
    """Make the folder match its source; whether anything changed, and the folder's size."""
    source = open_source(request.source, request.anonymous, request.region)
    offered = source.files()
    for remote in offered:
        path = PurePosixPath(remote.name)
        if path.is_absolute() or ".." in path.parts:
            raise BadInput(f"{request.source}: {remote.name} would land outside the folder")
    marker = _marker(request.target)
    if (
        marker
        and marker["source"] == _described(request, offered)
        and not _damage(request.target, marker["files"])
    ):
        say(f"{request.target} is complete: nothing to do")
        _check(request, marker["files"])
        return _summary(request, marker["files"], changed=False)
    if marker:
        say(f"{request.target}: {_why_again(request, marker, offered)}; updating")
        (request.target / MARKER).unlink()
    files = _download(request, source, offered, say)
    _check(request, files)
    write_json(
        request.target / f".{MARKER}", {"source": _described(request, offered), "files": files}
    )
    os.replace(request.target / f".{MARKER}", request.target / MARKER)
    shutil.rmtree(request.target / WORK, ignore_errors=True)
    return _summary(request, files, changed=True)


def _download(
    request: StagingRequest, source: Source, offered: list[Remote], say: Say
) -> dict[str, int]:
    """Every file of the source; those completed before an interruption are not downloaded
    again."""
    work = request.target / WORK
    work.mkdir(parents=True, exist_ok=True)
    done = _done(work)
    for number, remote in enumerate(offered, 1):
        earlier = done.get(remote.name)
        if (
            earlier
            and earlier["remote"] == asdict(remote)
            and not _damage(request.target, earlier["files"])
        ):
            continue
        say(f"{remote.name} ({number} of {len(offered)}, {remote.size} bytes)")
        part = work / "parts" / remote.name
        fetch(source, remote, part, say)
        if request.unpack and is_archive(remote.name):
            unpack(part, remote.name, work / "unpacked")
            names = move_below(work / "unpacked", request.target)
            part.unlink()
        else:
            (request.target / remote.name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, request.target / remote.name)
            names = [remote.name]
        done[remote.name] = {
            "remote": asdict(remote),
            "files": {name: (request.target / name).stat().st_size for name in names},
        }
        write_json(work / "done.new", done)
        os.replace(work / "done.new", work / "done.json")
    return {name: size for remote in offered for name, size in done[remote.name]["files"].items()}


def _check(request: StagingRequest, files: dict[str, int]) -> None:
    size = sum(files.values())
    if request.files and len(files) != request.files:
        raise BadInput(f"{request.target}: {len(files)} files, expected {request.files}")
    if len(files) < request.least:
        raise BadInput(
            f"{request.target}: {len(files)} files, but each of {request.least} processes needs one"
            " of its own"
        )
    if request.size and size != request.size:
        raise BadInput(f"{request.target}: {size} bytes, expected {request.size}")


def _described(request: StagingRequest, offered: list[Remote]) -> dict[str, Any]:
    return {
        "address": request.source,
        "unpack": request.unpack,
        "offered": [asdict(remote) for remote in offered],
    }


def _why_again(request: StagingRequest, marker: dict[str, Any], offered: list[Remote]) -> str:
    if marker["source"] != _described(request, offered):
        return "its source has changed"
    return _damage(request.target, marker["files"])


def _damage(target: Path, files: dict[str, int]) -> str:
    for name, size in files.items():
        path = target / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, not {size}"
    return ""


def _summary(request: StagingRequest, files: dict[str, int], changed: bool) -> dict[str, Any]:
    return {
        "changed": changed,
        "folder": str(request.target),
        "files": len(files),
        "bytes": sum(files.values()),
    }


def _marker(target: Path) -> dict[str, Any] | None:
    return _mapping(target / MARKER)


def _done(work: Path) -> dict[str, Any]:
    return _mapping(work / "done.json") or {}


def _mapping(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
