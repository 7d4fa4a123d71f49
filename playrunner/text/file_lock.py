"""A lock that processes share by a file; the system releases it when its holder ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(file: Path, wait: bool = True) -> Iterator[None]:
    """Held while the block runs. Where another holds it, it is waited for, or BlockingIOError is
    raised. The file stays: a process that waits for one that was deleted would be alone with it."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
