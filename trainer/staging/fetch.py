"""Download one file: after an interruption only the rest is requested."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from trainer.errors import BadInput
from trainer.staging.source import Interrupted, Remote, Source

TRIES = 6  # without progress
LOG_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5


def fetch(source: Source, remote: Remote, part: Path, say: Callable[[str], None]) -> None:
    """Until `part` is complete; a note beside it identifies the content it is a part of."""
    part.parent.mkdir(parents=True, exist_ok=True)
    note = part.with_name(part.name + ".json")
    content = {"size": remote.size, "mark": remote.mark}
    if part.exists() and (not remote.mark or _read(note) != content):
        part.unlink()  # of other or unknown content
    note.write_text(json.dumps(content))
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if before and before != remote.size:
                say(f"{remote.name}: resuming after {before} bytes")
            if before != remote.size:
                _append(source, remote, part, before, say)
            break
        except Interrupted as error:
            progressed = part.exists() and part.stat().st_size > before
            tries = 1 if progressed else tries + 1
            if tries >= TRIES:
                raise
            say(f"{remote.name}: {error}; retrying")
            time.sleep(FIRST_PAUSE_SECONDS * 2**tries)
    size = part.stat().st_size
    if remote.size >= 0 and size != remote.size:
        part.unlink()
        raise BadInput(
            f"{remote.name}: received {size} bytes, but the source has {remote.size}; downloaded"
            " again next time"
        )
    note.unlink()


def _append(
    source: Source, remote: Remote, part: Path, start: int, say: Callable[[str], None]
) -> None:
    logged, count = time.monotonic(), start
    with part.open("ab") as file:
        for block in source.blocks(remote, start):
            file.write(block)
            count += len(block)
            if time.monotonic() - logged > LOG_SECONDS:
                logged = time.monotonic()
                of = f" of {remote.size}" if remote.size >= 0 else ""
                say(f"{remote.name}: {count}{of} bytes")
        file.flush()
        os.fsync(file.fileno())
    if 0 <= count < remote.size:
        raise Interrupted(f"the connection ended after {count} of {remote.size} bytes")


def _read(note: Path) -> object:
    try:
        return json.loads(note.read_text())
    except (OSError, ValueError):
        return None
