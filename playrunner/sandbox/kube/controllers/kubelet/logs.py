"""The log of a container's run, whole or in part, as it is or as it grows. Each stored line begins
with its moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playrunner.sandbox.kube.wire.runtime import LogOptions

LOOK_SECONDS = 0.05
QUIET_SECONDS = 1.0  # how often a follower shows that it is there


def read(path: Path, options: LogOptions, is_over: Callable[[], bool]) -> Iterator[bytes]:
    """Pieces of the log; with `follow`, until `is_over` and all of it was read."""
    left = options.limit_bytes
    for piece in _pieces(path, options, is_over):
        if left is not None:
            piece, left = piece[:left], left - len(piece)
        yield piece
        if left is not None and left <= 0:
            return


def _pieces(path: Path, options: LogOptions, is_over: Callable[[], bool]) -> Iterator[bytes]:
    with open(path, "rb") as file:
        lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        at = sum(map(len, lines))
        yield _shown(_chosen(lines, options), options)
        quiet = time.monotonic()
        while options.follow:
            over = is_over()  # asked before reading, so that what came last is not missed
            file.seek(at)
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
            at += sum(map(len, lines))
            if lines:
                yield _shown(lines, options)
            elif over:
                return
            else:
                if time.monotonic() - quiet > QUIET_SECONDS:
                    quiet = time.monotonic()
                    yield b""
                time.sleep(LOOK_SECONDS)


def _chosen(lines: list[bytes], options: LogOptions) -> list[bytes]:
    if options.since_seconds is not None:
        since = (
            (datetime.now(UTC) - timedelta(seconds=options.since_seconds))
            .strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            .encode()
        )
        lines = [line for line in lines if line.partition(b" ")[0] >= since]
    if options.tail is not None:
        lines = lines[max(0, len(lines) - options.tail) :]
    return lines


def _shown(lines: list[bytes], options: LogOptions) -> bytes:
    return b"".join(lines if options.timestamps else (line.partition(b" ")[2] for line in lines))
