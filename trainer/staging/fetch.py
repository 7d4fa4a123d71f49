"""One file brought here: what came before an interruption is kept, and the rest is asked for."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from trainer.errors import BadInput
from trainer.staging.source import Interrupted, Remote, Source

TRIES = 6  # without a byte in between
SAY_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5


def fetch(source: Source, remote: Remote, part: Path, say: Callable[[str], None]) -> None:
    """Until `part` is whole; its note beside it says of which content it is a part."""
    part.parent.mkdir(parents=True, exist_ok=True)
    note = part.with_name(part.name + ".json")
    known = {"size": remote.size, "mark": remote.mark}
    if part.exists() and (not remote.mark or _read(note) != known):
        part.unlink()  # of other content, or nobody can tell
    note.write_text(json.dumps(known))
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if before and before != remote.size:
                say(f"{remote.name}: going on after {before} bytes")
            if before != remote.size:
                _append(source, remote, part, before, say)
            break
        except Interrupted as trouble:
            came = part.exists() and part.stat().st_size > before
            tries = 1 if came else tries + 1
            if tries >= TRIES:
                raise
            say(f"{remote.name}: {trouble}; trying again")
            time.sleep(FIRST_PAUSE_SECONDS * 2**tries)
    size = part.stat().st_size
    if remote.size >= 0 and size != remote.size:
        part.unlink()
        raise BadInput(
            f"{remote.name}: {size} bytes came, and the source says {remote.size}; it is fetched"
            " anew next time"
        )
    note.unlink()


def _append(
    source: Source, remote: Remote, part: Path, start: int, say: Callable[[str], None]
) -> None:
    said, count = time.monotonic(), start
    with part.open("ab") as file:
        for block in source.blocks(remote, start):
            file.write(block)
            count += len(block)
            if time.monotonic() - said > SAY_SECONDS:
                said = time.monotonic()
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
