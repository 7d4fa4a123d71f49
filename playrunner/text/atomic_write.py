"""Write a file whole or not at all: readers see the old content or the new, never a part of it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_bytes(path: Path, content: bytes, mode: int | None = None, durable: bool = True) -> None:
    """Replace what is at `path`; a link there is replaced, never written through.

    `mode` is set before the file has its name; without it the umask decides. With `durable` the
    content is on the disk first, so that a power cut leaves no empty file.
    """
    scratch = path.with_name(f".playrunner-{secrets.token_hex(8)}")
    descriptor = os.open(scratch, _NEW_FILE, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            if mode is not None:
                os.fchmod(descriptor, mode)
            if durable:
                out.flush()
                os.fsync(descriptor)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, mode: int | None = None, durable: bool = True) -> None:
    write_bytes(path, text.encode(), mode, durable)
