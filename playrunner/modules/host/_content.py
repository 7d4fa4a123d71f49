"""What is in a file: read in pieces, hashed, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._drafts import Draft, link, scrap_beside, unnamed
from playrunner.modules.host._modes import default_bits, octal
from playrunner.modules.host._owners import group_name, set_attributes, user_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NoReturn, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import State

TEXT_LIMIT = 256 * 1024  # bytes of a file that a state holds, for a diff or to take a change back
CHUNK = 1024 * 1024  # bytes read at a time


class Source:
    """What a file shall hold, and the file beside it that is filled first."""

    _draft: Optional[Draft] = None
    _is_unnamed = False

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    def begin(self, ctx: HostContext, path: str, lasts: bool = False) -> tuple[int, str]:
        """An open file for the content, and a path beside `path` for when it is whole: until then
        it has no name, where the system has such files, and goes with this process. `lasts`: it is
        needed by its name for a while, which is a draft's from the start."""
        scrap, folder = scrap_beside(path), os.path.dirname(path)
        fd = None if lasts else unnamed(folder or ".", scrap)
        self._is_unnamed = fd is not None
        if fd is not None:
            ctx.scrap(scrap)
            return fd, scrap
        self._draft = Draft(ctx, folder)
        return self._draft.fd, self._draft.path

    def fill(self, fd: int) -> None:
        for chunk in self._chunks:
            while chunk:
                chunk = chunk[os.write(fd, chunk) :]

    def name(self, fd: int, scrap: str) -> None:
        if self._is_unnamed:
            link(fd, scrap)

    def end(self, ctx: HostContext, scrap: str) -> None:
        if self._draft:
            self._draft.end()
        ctx.kept(scrap)


def write(
    ctx: HostContext,
    path: str,
    chunks: Iterable[bytes] | Source,
    attributes: State,
    validate: Optional[str] = None,
    unsafe: bool = False,
) -> None:
    """Write a file whole or not at all; an existing one keeps its mode and owner unless asked
    otherwise."""
    current = stat_of(path, follow=True)
    source = chunks if isinstance(chunks, Source) else Source(chunks)
    try:
        fd, scrap = source.begin(ctx, path, bool(validate))
    except OSError:
        if not unsafe or not os.path.isfile(path):
            raise
        # Nothing can be made beside it, but it may be written to in place
        scratch = os.path.join(_scratch_folder(), os.path.basename(path))
        fd, scrap = source.begin(ctx, scratch, bool(validate))
    try:
        try:
            source.fill(fd)
            _keep_attributes(fd, current if current and stat.S_ISREG(current.st_mode) else None)
            set_attributes(fd, attributes)
            os.fsync(fd)
            source.name(fd, scrap)
        finally:
            os.close(fd)
        if validate:
            _validated(ctx, validate, scrap, path)
        _replace(scrap, path, unsafe)
    except BaseException:
        if os.path.lexists(scrap):
            os.unlink(scrap)
        raise
    finally:
        source.end(ctx, scrap)


def backup_of(ctx: HostContext, path: str) -> str:
    """Copy a file aside, under a name that tells when; the copy's path."""
    copy = f"{path}.{os.getpid()}.{time.strftime('%Y-%m-%d@%H:%M:%S~')}"
    info = os.stat(path)
    write(
        ctx,
        copy,
        chunks_of(path),
        {
            "mode": octal(info.st_mode),
            "owner": user_name(info.st_uid),
            "group": group_name(info.st_gid),
        },
    )
    os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
    return copy


def read_bytes(path: str) -> bytes:
    return b"".join(chunks_of(path))


def chunks_of(path: str) -> Iterator[bytes]:
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            while True:
                chunk = os.read(fd, CHUNK)
                if not chunk:
                    return
                yield chunk
        finally:
            os.close(fd)
    except OSError as error:
        refuse(error, path)


def sha1_of(chunks: Iterable[bytes]) -> str:
    digest = None
    for chunk in chunks:
        digest = digest or _new_sha1(len(chunk))
        digest.update(chunk)
    text: str = (digest or _new_sha1(0)).hexdigest()
    return text


def _new_sha1(size: int) -> Any:
    # hashlib takes ten milliseconds to load OpenSSL, which hashes twenty times faster: worth it for
    # large files only.
    if size <= TEXT_LIMIT:
        try:
            from _sha1 import sha1  # type: ignore[import-not-found,unused-ignore]

            return sha1()
        except ImportError:
            pass  # not every Python is built with it
    import hashlib

    return hashlib.sha1(usedforsecurity=False)


def md5_of(data: bytes) -> str:
    """ValueError where the system forbids it, which only OpenSSL knows."""
    if len(data) <= TEXT_LIMIT and not _forbids_md5():
        try:
            from _md5 import md5  # type: ignore[import-not-found,unused-ignore]

            text: str = md5(data).hexdigest()
            return text
        except ImportError:
            pass
    import hashlib

    return hashlib.md5(data).hexdigest()


def _forbids_md5() -> bool:
    try:
        with open("/proc/sys/crypto/fips_enabled", "rb") as file:
            return file.read(1) == b"1"
    except OSError:
        return False


def text_of(data: bytes) -> Optional[str]:
    """The content as text for a state, or None when it is binary or too long to keep."""
    if len(data) > TEXT_LIMIT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def stat_of(path: str, follow: bool = False) -> Optional[os.stat_result]:
    try:
        return os.stat(path) if follow else os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return stat_of(path) if follow else None
    except OSError as error:
        refuse(error, path)


def refuse(error: OSError, path: str) -> NoReturn:
    """The system's refusal as a failure that names the path and what to do."""
    remedies = {
        errno.ENOSPC: "free some space on its file system",
        errno.EDQUOT: "the quota is used up",
        errno.EROFS: "its file system is mounted read-only",
        errno.EACCES: "run the step with become, or as a user who may",
        errno.EPERM: "run the step with become, or as a user who may",
        errno.ENOENT: (
            f"Destination directory {os.path.dirname(path)} does not exist; create it first"
        ),
        errno.ENOTDIR: "a part of the path is not a directory",
        errno.EBUSY: "it is in use; unsafe_writes writes in place",
    }
    remedy = remedies.get(error.errno or 0)
    raise Failed(
        f"{path}: {error.strerror or error}" + (f"; {remedy}" if remedy else ""), path=path
    ) from None


def _keep_attributes(fd: int, current: Optional[os.stat_result]) -> None:
    if current is None:
        os.fchmod(fd, default_bits("file"))
        return
    if (current.st_uid, current.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(fd, current.st_uid, current.st_gid)
        except PermissionError:
            pass  # replacing another user's file in a shared folder makes it ours
    os.fchmod(fd, stat.S_IMODE(current.st_mode))


def _validated(ctx: HostContext, validate: str, scrap: str, path: str) -> None:
    import shlex

    if "%s" not in validate:
        raise Failed(f"validate must contain %s: {validate}")
    ran = ctx.run(shlex.split(validate % scrap))
    if ran.rc:
        raise Failed(
            f"failed to validate: rc:{ran.rc} error:{ran.err}; {path} stays as it was",
            exit_status=ran.rc,
            stdout=ran.out,
            stderr=ran.err,
        )


def _scratch_folder() -> str:
    return os.environ.get("TMPDIR") or "/tmp"


def _replace(scrap: str, path: str, unsafe: bool) -> None:
    try:
        os.replace(scrap, path)
    except OSError:
        if not unsafe or not os.path.isfile(path):
            raise
        with open(path, "wb") as file:
            for chunk in chunks_of(scrap):
                file.write(chunk)
        os.unlink(scrap)
