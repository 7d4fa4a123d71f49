"""A folder with the same data as its source: downloaded, checked by checksum, size and count, then
marked as complete.

`.staging/` below the folder holds work in progress; `staged.json` is written last and marks the
folder as complete.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from trainer.checkpoint.manifest import write_json
from trainer.errors import BadInput
from trainer.frozen import frozen
from trainer.staging.fetch import fetch
from trainer.staging.source import Interrupted, Remote, Source, open_source
from trainer.staging.unpack import is_archive, move_below, unpack, without_own_folder

MARKER, WORK, LOCK = "staged.json", ".staging", ".staging.lock"
RESERVED = (MARKER, f".{MARKER}", WORK, LOCK)
Say = Callable[[str], None]


@frozen
class StagingRequest:
    source: str
    target: Path
    unpack: bool = False
    files: int = 0  # exact number, if given
    least: int = 0  # at least so many: one for every process that reads
    size: int = 0  # exact number of bytes, if given
    anonymous: bool = False
    region: str = ""
    # Only these files of the source's folder, with the SHA-256 of each if known
    names: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""  # of the source's only file


def stage(request: StagingRequest, say: Say) -> dict[str, Any]:
    """Make the folder match its source; whether anything changed, and the folder's size."""
    with _alone(request.target, say):
        return _stage(request, say)


@contextmanager
def _alone(target: Path, say: Say) -> Iterator[None]:
    """Two nodes that share a folder take turns; the second finds it complete."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{target} is being staged by another program; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: jobs are named after their folder instead
        yield


def _stage(request: StagingRequest, say: Say) -> dict[str, Any]:
    marker = _marker(request.target)
    intact = marker is not None and not _damage(request.target, marker["files"])
    if marker and intact and _holds_declared(request, marker):
        return _unchanged(request, marker, say)
    source = open_source(request.source, request.anonymous, request.region, request.names)
    try:
        offered = _offered(request, source)
    except Interrupted as error:
        if not marker or not intact or not _same_request(request, marker):
            raise
        say(f"{request.source}: {error}; what is there is complete, and is kept")
        return _unchanged(request, marker, say)
    if marker and intact and marker["source"] == _described(request, offered):
        return _unchanged(request, marker, say)
    if marker:
        say(f"{request.target}: {_why_again(request, marker, offered)}; updating")
        (request.target / MARKER).unlink()
    done = _download(request, source, offered, say)
    files = {name: size for each in done for name, size in each["files"].items()}
    _check(request, files)
    write_json(
        request.target / f".{MARKER}",
        {
            "source": _described(request, offered),
            "sha256": {each["remote"]["name"]: each["sha256"] for each in done},
            "bytes": sum(files.values()),
            "files": files,
        },
    )
    os.replace(request.target / f".{MARKER}", request.target / MARKER)
    shutil.rmtree(request.target / WORK, ignore_errors=True)
    return _summary(request, files, changed=True)


def _offered(request: StagingRequest, source: Source) -> list[Remote]:
    offered = source.files()
    if request.sha256:
        if len(offered) != 1:
            raise BadInput(f"--sha256 is of one file, and {request.source} has {len(offered)}")
        offered = [replace(offered[0], sha256=request.sha256.lower())]
    for remote in offered:
        path = PurePosixPath(remote.name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise BadInput(f"{request.source}: {remote.name} would land outside the folder")
        if path.parts[0] in RESERVED:
            raise BadInput(
                f"{request.source}: a file named {remote.name} cannot be staged: the name is kept"
                " for staging itself"
            )
    return offered


def _unchanged(request: StagingRequest, marker: dict[str, Any], say: Say) -> dict[str, Any]:
    say(f"{request.target} is complete: nothing to do")
    _check(request, marker["files"])
    return _summary(request, marker["files"], changed=False)


def _holds_declared(request: StagingRequest, marker: dict[str, Any]) -> bool:
    """Whether the folder holds exactly the declared content, wherever it came from: then the source
    need not be asked."""
    declared = {name: digest for name, digest in request.names.items() if digest}
    return (
        bool(declared)
        and len(declared) == len(request.names)
        and marker["source"].get("unpack") == request.unpack
        and marker.get("sha256") == declared
    )


def _same_request(request: StagingRequest, marker: dict[str, Any]) -> bool:
    names = {each["name"] for each in marker["source"].get("offered", ())}
    return (
        marker["source"].get("address") == _plain(request.source)
        and marker["source"].get("unpack") == request.unpack
        and names == (set(request.names) or names)
    )


def _download(
    request: StagingRequest, source: Source, offered: list[Remote], say: Say
) -> list[dict[str, Any]]:
    """Every file of the source; those completed before an interruption are not downloaded
    again."""
    work = request.target / WORK
    work.mkdir(parents=True, exist_ok=True)
    done = _done(work)
    for number, remote in enumerate(offered, 1):
        earlier = done.get(remote.name)
        if (
            earlier
            and "sha256" in earlier
            and earlier["remote"] == asdict(remote)
            and not _damage(request.target, earlier["files"])
        ):
            continue
        say(f"{remote.name} ({number} of {len(offered)}, {remote.size} bytes)")
        part = work / "parts" / remote.name
        sha256 = fetch(source, remote, part, say)
        names = _put_in_place(request, remote, part)
        done[remote.name] = {
            "remote": asdict(remote),
            "sha256": sha256,
            "files": {name: (request.target / name).stat().st_size for name in names},
        }
        write_json(work / "done.new", done)
        os.replace(work / "done.new", work / "done.json")
    return [done[remote.name] for remote in offered]


def _put_in_place(request: StagingRequest, remote: Remote, part: Path) -> list[str]:
    target = request.target
    if not request.unpack or not is_archive(remote.name):
        (target / remote.name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, target / remote.name)
        return [remote.name]
    unpacked = target / WORK / "unpacked"
    unpack(part, remote.name, unpacked)
    content = without_own_folder(unpacked, remote.name, target)
    names = move_below(content, target, reserved=RESERVED)
    part.unlink()
    return names


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


def _plain(address: str) -> str:
    """Without what a signed address is signed with: it is a secret, and differs each time."""
    return address.partition("?")[0]


def _described(request: StagingRequest, offered: list[Remote]) -> dict[str, Any]:
    return {
        "address": _plain(request.source),
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
    marker = _mapping(target / MARKER)
    whole = marker and all(isinstance(marker.get(part), dict) for part in ("source", "files"))
    return marker if whole else None


def _done(work: Path) -> dict[str, Any]:
    return _mapping(work / "done.json") or {}


def _mapping(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
