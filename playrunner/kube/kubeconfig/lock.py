"""The lock file that kubectl makes beside a file while it writes it. Ours says which process made
it, from the moment it is there: one whose process was killed is removed, not waited for."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playrunner.record.processes import is_running, machine, started_at
from playrunner.text.documents import json_object

_LOOK_SECONDS = 0.05


@contextmanager
def held(lock: Path, seconds: float) -> Iterator[None]:
    """Others wait while the block runs; TimeoutError where another holds it all those seconds."""
    until = time.monotonic() + seconds
    while not _made(lock):
        if _is_dead(lock):
            _remove_dead(lock)
        elif time.monotonic() > until:
            raise TimeoutError(str(lock))
        else:
            time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _made(lock: Path) -> bool:
    """Whether there was none, and there is one of this process now."""
    pid = os.getpid()
    record = {"machine": machine(), "pid": pid, "started": started_at(pid)}
    whole = lock.with_name(f".{lock.name}.{uuid.uuid4().hex}")
    try:
        _write_new(whole, json.dumps(record))
        os.link(whole, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        return _write_new(lock, json.dumps(record))
    finally:
        whole.unlink(missing_ok=True)
    return True


def _write_new(file: Path, text: str) -> bool:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
    return True


def _is_dead(lock: Path) -> bool:
    """Whether it is known to be of a process of ours that has ended; kubectl's says nothing."""
    try:
        record = json_object(lock.read_text())
    except (OSError, ValueError):
        return False
    if not record or record.get("machine") != machine():
        return False
    pid, started = record.get("pid"), record.get("started")
    return isinstance(pid, int) and not is_running(pid, str(started))


def _remove_dead(lock: Path) -> None:
    """One process at a time looks again and removes it, so that none removes its successor."""
    folder = os.open(lock.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if _is_dead(lock):
            lock.unlink(missing_ok=True)
    finally:
        os.close(folder)
