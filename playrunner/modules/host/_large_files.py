"""Large files of the controller: received piece by piece into a file beside their place, which
stays when the connection is cut, and is continued by the next agent that is to make the same
file."""

from __future__ import annotations

import errno
import os
import stat
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import CHUNK, Source, chunks_of
from playrunner.modules.host._drafts import delete_unused, is_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

LARGE_BYTES = 16 << 20  # larger files are not held in memory, here and on the controller
PREFIX = ".playrunner-part-"
# How long an agent whose connection was cut may take to end and to let go of its part
LOCK_SECONDS = 5.0
LOCK_LOOK_SECONDS = 0.1


class LargeFile(Source):
    """A file of the controller that is larger than what is held in memory."""

    def __init__(self, ctx: HostContext, upload: dict[str, Any]) -> None:
        self._ctx, self._upload = ctx, upload
        self._place = self._scrap = ""
        self._lock: Optional[int] = None
        self._error: Optional[OSError] = None

    def begin(self, ctx: HostContext, path: str, lasts: bool = False) -> tuple[int, str]:
        self._place = path
        part = part_of(path, self._upload["sha1"])
        _remove_others(part)
        self._lock = _locked(part)
        if self._lock is None:
            fd, self._scrap = super().begin(ctx, path, lasts)
        else:
            fd, self._scrap = os.open(part, os.O_RDWR | getattr(os, "O_CLOEXEC", 0)), part
        return fd, self._scrap

    def fill(self, fd: int) -> None:
        sha1, placed = self._upload["sha1"], self._ctx.wire.placed
        if sha1 not in placed or not self._copied(fd, placed[sha1]):
            self._receive(fd)
        placed[sha1] = self._place
        os.fsync(fd)
        # With the mode and owner that it gets now, nobody would continue it
        self._ctx.scrap(self._scrap)

    def end(self, ctx: HostContext, scrap: str) -> None:
        super().end(ctx, scrap)
        if self._lock is not None:
            os.close(self._lock)

    def _receive(self, fd: int) -> None:
        start = os.fstat(fd).st_size
        if start and self._received(fd, start):
            return
        os.ftruncate(fd, 0)  # what was there is not the beginning of this file
        if not self._received(fd, 0):
            raise Failed("the file changed on the controller while it was sent; run again")

    def _received(self, fd: int, start: int) -> bool:
        """Have the file sent from an offset on; whether it is whole and what it should be."""
        digest = _sha1()
        os.lseek(fd, 0, os.SEEK_SET)
        left = start
        while left and (data := os.read(fd, min(left, CHUNK))):
            digest.update(data)
            left -= len(data)

        def take(data: bytes) -> None:
            if self._error:
                return
            try:
                digest.update(data)
                _write_all(fd, data)
            except OSError as error:  # raised in the step's own thread
                self._error = error

        if start < self._upload["size"]:
            self._ctx.receive(self._upload, start, take)
        if self._error:
            raise self._error
        return bool(digest.hexdigest() == self._upload["sha1"])

    def _copied(self, fd: int, path: str) -> bool:
        """Take it from where this agent put it before, unless that has changed since."""
        digest = _sha1()
        os.ftruncate(fd, 0)
        try:
            for chunk in chunks_of(path):
                digest.update(chunk)
                _write_all(fd, chunk)
        except Failed:
            pass  # it is gone, or not readable any more: it is received again
        if digest.hexdigest() == self._upload["sha1"]:
            return True
        os.ftruncate(fd, 0)
        return False


def read_from(
    ctx: HostContext, upload: dict[str, Any], folder: str, read: Callable[[str], Any]
) -> Any:
    """What `read` makes of a large file, given its path, which it has for so long. It is a part
    all the time, which the next agent takes up where this one is killed."""
    source = LargeFile(ctx, upload)
    fd, scrap = source.begin(ctx, os.path.join(folder, upload["sha1"]))
    try:
        source.fill(fd)
        return read(scrap if os.path.lexists(scrap) else f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
        if os.path.lexists(scrap):
            os.unlink(scrap)
        source.end(ctx, scrap)


def is_large(ctx: HostContext, entry: dict[str, Any]) -> bool:
    """Whether the controller has to send it, and it is not to be held in memory. A process in the
    background cannot ask the controller: it has all files from the start."""
    is_here = bool({"data", "from", "text"} & entry.keys())
    return not is_here and not ctx.background and int(entry["size"]) > LARGE_BYTES


def part_of(path: str, sha1: str) -> str:
    """Where a file is collected until it is whole: one name for each place and content."""
    folder, name = os.path.split(path)
    place = _sha1(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return os.path.join(folder, f"{PREFIX}{place}-{sha1}")


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _sha1(data: bytes = b"") -> Any:
    import hashlib

    return hashlib.sha1(data, usedforsecurity=False)


def _remove_others(part: str) -> None:
    """Parts of an earlier content for the same place, which nobody is going to continue."""
    folder, name = os.path.split(part)
    begins = name[: name.rindex("-") + 1]
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return  # a folder that may be written and not read
    for other in names:
        if other.startswith(begins) and other != name:
            delete_unused(os.path.join(folder, other))


def _locked(part: str) -> Optional[int]:
    """A lock on the part, which is made if it is missing; None where another agent is writing it
    or where it could be somebody else's."""
    import fcntl

    deadline = time.monotonic() + LOCK_SECONDS
    flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(part, flags, 0o600)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EACCES, errno.EISDIR):
                return None
            raise
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The agent that had the lock may have put the file in its place
            if is_at(fd, part):
                if _is_ours(os.fstat(fd)):
                    return fd
                deadline = 0.0
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                deadline = 0.0  # a file system without locks
        os.close(fd)
        if time.monotonic() >= deadline:
            return None
        time.sleep(LOCK_LOOK_SECONDS)


def _is_ours(file_stat: os.stat_result) -> bool:
    """In a folder that others write to, a file of this name may be theirs, or a link to another of
    ours."""
    return (
        stat.S_ISREG(file_stat.st_mode)
        and file_stat.st_uid == os.geteuid()
        and file_stat.st_nlink == 1
        and not file_stat.st_mode & 0o077
    )
