"""Where a file is written before it is whole: without a name, where the system has such files, so
that it goes with the process however that ends; else under a name, with a lock for as long as the
process lives, so that a later one can tell what a killed one left."""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from playrunner.hostside.host_context import HostContext

PREFIX = ".playrunner-draft-"


class Draft:
    """A new file with a name, in a folder from which what killed processes left was deleted.

    The one who asked for it closes `fd`; `end` deletes what is still there."""

    def __init__(self, ctx: HostContext, folder: str) -> None:
        delete_left(ctx, folder)
        self._ctx = ctx
        while True:
            unique = f"{os.getpid()}-{time.monotonic_ns()}"
            self.path = os.path.join(folder, f"{PREFIX}{machine(os.uname().nodename)}-{unique}")
            self.fd = created(self.path)
            ctx.scrap(self.path)
            self._lock = _shared_lock(self.path)
            if self._lock is not None:
                return
            os.close(self.fd)  # another agent took it for one that was left, and deletes it
            ctx.kept(self.path)

    def end(self) -> None:
        if os.path.lexists(self.path):
            os.unlink(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._ctx.kept(self.path)


def machine(name: str) -> str:
    """Whose draft it is: where machines share a folder, some file systems show locks only to the
    machine that holds them."""
    import zlib

    return f"{zlib.crc32(name.encode()):08x}"


def delete_left(ctx: HostContext, folder: str) -> None:
    """Once for each step and folder, since a step may write thousands of files there."""
    looked: set[str] = ctx.memory.setdefault("drafts looked for", set())
    if folder in looked:
        return
    looked.add(folder)
    begins = f"{PREFIX}{machine(os.uname().nodename)}-"
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return  # a folder that may be written and not read
    for name in names:
        if name.startswith(begins):
            delete_unused(os.path.join(folder, name))


def delete_unused(path: str) -> None:
    """Delete a draft that no process holds a lock on."""
    import fcntl

    # NFS gives this lock only to those who may write; a pipe must not be waited for
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except OSError:
        return  # no file, gone meanwhile, or another user's
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISREG(os.fstat(fd).st_mode) and is_at(fd, path):
            os.unlink(path)
    except OSError:
        pass  # in use, or on a file system without locks, where nothing tells
    finally:
        os.close(fd)


def is_at(fd: int, path: str) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


def scrap_beside(path: str) -> str:
    """A name for what is whole when it gets one, and is moved to its place at once."""
    return os.path.join(os.path.dirname(path), f".playrunner-{os.getpid()}-{time.monotonic_ns()}")


_can_name: dict[int, bool] = {}  # whether a file without a name can get one, by device


def unnamed(folder: str, scrap: str) -> Optional[int]:
    """An open file without a name; None where there are none, or where they could not be named."""
    device = os.stat(folder).st_dev
    if device not in _can_name:
        _can_name[device] = False
        fd = _opened_without_name(folder)
        if fd is None:
            return None
        try:
            link(fd, scrap)
            os.unlink(scrap)
            _can_name[device] = True
        except OSError:
            pass
        finally:
            os.close(fd)
    return _opened_without_name(folder) if _can_name[device] else None


def _opened_without_name(folder: str) -> Optional[int]:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # a named one shows what else is wrong
        return None


def created(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags, 0o600)


def link(fd: int, path: str) -> None:
    # Only with a folder's descriptor (not used, as the path is absolute) Python has links followed
    os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)


def _shared_lock(path: str) -> Optional[int]:
    """Keeps others from deleting it; None where one of them is about to.

    Shared and through a descriptor that cannot write: a program that is held open for writing
    cannot be run, and a draft may be validated so."""
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(fd)
            return None
        return fd  # a file system without locks: no process takes it for one that was left
    if is_at(fd, path):
        return fd
    os.close(fd)
    return None
