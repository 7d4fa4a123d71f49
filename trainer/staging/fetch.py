"""Download one file: after an interruption only the rest is requested."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from trainer.errors import BadInput
from trainer.staging.source import BLOCK, Interrupted, Remote, Source

TRIES = 6  # without progress
LOG_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5


def fetch(source: Source, remote: Remote, part: Path, say: Callable[[str], None]) -> str:
    """Until `part` is complete; its SHA-256. A note beside it identifies the content it is a part
    of."""
    part.parent.mkdir(parents=True, exist_ok=True)
    note = part.with_name(part.name + ".json")
    content = {"size": remote.size, "mark": remote.mark, "sha256": remote.sha256}
    known = bool(remote.mark or remote.sha256)
    if part.exists() and (not known or _read(note) != content):
        part.unlink()  # of other or unknown content
    note.write_text(json.dumps(content))
    digest = _digest(part)
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if before and before != remote.size:
                say(f"{remote.name}: resuming after {before} bytes")
            if before != remote.size:
                _append(source, remote, part, before, digest, say)
            break
        except Interrupted as error:
            progressed = part.exists() and part.stat().st_size > before
            tries = 1 if progressed else tries + 1
            if tries >= TRIES or error.final:
                raise
            say(f"{remote.name}: {error}; retrying")
            time.sleep(FIRST_PAUSE_SECONDS * 2**tries)
    part.touch()  # an empty file brings no blocks
    _check(remote, part, digest.hexdigest())
    note.unlink()
    return digest.hexdigest()


def _check(remote: Remote, part: Path, sha256: str) -> None:
    size = part.stat().st_size
    if remote.size >= 0 and size != remote.size:
        part.unlink()
        raise BadInput(
            f"{remote.name}: received {size} bytes, but the source has {remote.size}; downloaded"
            " again next time"
        )
    if remote.sha256 and sha256 != remote.sha256:
        part.unlink()
        raise BadInput(
            f"{remote.name}: its SHA-256 is {sha256}, but {remote.sha256} is expected: the source"
            " has other content, or it was altered on its way; it is not used"
        )


def _append(
    source: Source,
    remote: Remote,
    part: Path,
    start: int,
    digest: hashlib._Hash,
    say: Callable[[str], None],
) -> None:
    logged, count = time.monotonic(), start
    with part.open("ab") as file:
        try:
            for block in source.blocks(remote, start):
                file.write(block)
                digest.update(block)
                count += len(block)
                if time.monotonic() - logged > LOG_SECONDS:
                    logged = time.monotonic()
                    of = f" of {remote.size}" if remote.size >= 0 else ""
                    say(f"{remote.name}: {count}{of} bytes")
        finally:
            file.flush()
        os.fsync(file.fileno())
    if 0 <= count < remote.size:
        raise Interrupted(f"the connection ended after {count} of {remote.size} bytes")


def _digest(part: Path) -> hashlib._Hash:
    """Of what is already there."""
    digest = hashlib.sha256()
    if part.exists():
        with part.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest


def _read(note: Path) -> object:
    try:
        return json.loads(note.read_text())
    except (OSError, ValueError):
        return None
