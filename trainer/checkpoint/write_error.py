"""Why a checkpoint could not be written, where the disk is the cause."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trainer.errors import NotWritten, TrainerError

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_TRIED_BYTES = 1 << 16


def write_error(error: BaseException, folder: Path) -> BaseException:
    """The error that names the cause: torch says `unexpected pos 704 vs 598` of a full disk, and
    passes on between ranks no error but its own."""
    if isinstance(error, TrainerError):
        return error
    reason = next(_reasons(error), None) or next(_reasons(_trial(folder)), None)
    if not reason:
        return error
    return NotWritten(f"{folder.parent}: a checkpoint cannot be written: {reason}")


def _reasons(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            yield os.strerror(error.errno)
        error = error.__cause__ or error.__context__


def _trial(folder: Path) -> OSError | None:
    """The error of a small file, which has no name and leaves nothing."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
    except OSError as error:
        return error
    return None
