"""host.stat: what is at a path, in the words of stat(2)."""

from __future__ import annotations

import os
import stat

from playrunner.hostside.module import Failed, Probe
from playrunner.modules.host._content import chunks_of, refuse
from playrunner.modules.host._owners import group_name, user_name
from playrunner.modules.host._paths import expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from playrunner.hostside.host_context import HostContext

_SNIFFED = 4096  # bytes that tell text from binary
_GET_FLAGS = 0x80086601  # the request number of Linux for the attributes that lsattr shows
_FLAGS = {
    "s": 0x1,
    "u": 0x2,
    "c": 0x4,
    "S": 0x8,
    "i": 0x10,
    "a": 0x20,
    "d": 0x40,
    "A": 0x80,
    "I": 0x1000,
    "j": 0x4000,
    "D": 0x10000,
    "T": 0x20000,
    "e": 0x80000,
    "C": 0x800000,
    "P": 0x20000000,
}
_FLAG_NAMES = {
    "s": "secureddelete",
    "u": "undelete",
    "c": "compressed",
    "S": "sync",
    "i": "immutable",
    "a": "append",
    "d": "nodump",
    "A": "noatime",
    "I": "indexed",
    "j": "journalled",
    "D": "dirsync",
    "T": "topdir",
    "e": "extents",
    "C": "nocow",
    "P": "projid",
}


class Stat(Probe):
    """What is at a path: whether it exists, its kind, mode, owner, size, times and checksum."""

    aliases = {
        "dest": "path",
        "name": "path",
        "checksum_algo": "checksum_algorithm",
        "checksum": "checksum_algorithm",
        "mime": "get_mime",
        "mime_type": "get_mime",
        "mime-type": "get_mime",
        "attr": "get_attributes",
        "attributes": "get_attributes",
    }
    answers = {"stat": {"exists": bool}}

    path: str  # what to look at
    follow: bool = False  # look at what a link points to
    get_checksum: bool = True  # also hash a file's content
    checksum_algorithm: str = "sha1"  # sha1, sha256, md5, ...
    get_mime: bool = True  # also tell text from binary
    get_attributes: bool = True  # also tell what lsattr shows

    def look(self, ctx: HostContext) -> dict[str, Any]:
        path = expanded(self.path)
        try:
            info = os.stat(path) if self.follow else os.lstat(path)
        except FileNotFoundError:
            return {"stat": {"exists": False}}
        except OSError as error:
            refuse(error, path)
        shown = {
            "exists": True,
            "path": path,
            **described(info),
            "readable": os.access(path, os.R_OK),
            "writeable": os.access(path, os.W_OK),
            "executable": os.access(path, os.X_OK),
        }
        if stat.S_ISLNK(info.st_mode):
            shown["lnk_source"], shown["lnk_target"] = os.path.realpath(path), os.readlink(path)
        if self.get_checksum and stat.S_ISREG(info.st_mode) and shown["readable"]:
            shown["checksum"] = digest_of(chunks_of(path), self.checksum_algorithm)
        if self.get_mime:
            shown["mimetype"], shown["charset"] = _mime(path, info)
        if self.get_attributes:
            shown.update(_attributes(path, info))
        return {"stat": shown}


def described(info: os.stat_result) -> dict[str, Any]:
    """The numbers of a stat and the questions people ask of its mode."""
    mode = info.st_mode
    kinds = {
        "isdir": stat.S_ISDIR,
        "ischr": stat.S_ISCHR,
        "isblk": stat.S_ISBLK,
        "isreg": stat.S_ISREG,
        "isfifo": stat.S_ISFIFO,
        "islnk": stat.S_ISLNK,
        "issock": stat.S_ISSOCK,
    }
    bits = {
        "wusr": stat.S_IWUSR,
        "rusr": stat.S_IRUSR,
        "xusr": stat.S_IXUSR,
        "wgrp": stat.S_IWGRP,
        "rgrp": stat.S_IRGRP,
        "xgrp": stat.S_IXGRP,
        "woth": stat.S_IWOTH,
        "roth": stat.S_IROTH,
        "xoth": stat.S_IXOTH,
        "isuid": stat.S_ISUID,
        "isgid": stat.S_ISGID,
    }
    return {
        "mode": f"{stat.S_IMODE(mode):04o}",
        **{name: test(mode) for name, test in kinds.items()},
        **{name: bool(mode & bit) for name, bit in bits.items()},
        "uid": info.st_uid,
        "gid": info.st_gid,
        "size": info.st_size,
        "inode": info.st_ino,
        "dev": info.st_dev,
        "nlink": info.st_nlink,
        "atime": info.st_atime,
        "mtime": info.st_mtime,
        "ctime": info.st_ctime,
        "pw_name": user_name(info.st_uid),
        "gr_name": group_name(info.st_gid),
        "blocks": getattr(info, "st_blocks", 0),
        "block_size": getattr(info, "st_blksize", 0),
        "device_type": getattr(info, "st_rdev", 0),
    }


def digest_of(chunks: Iterable[bytes], algorithm: str) -> str:
    import hashlib

    try:
        digest = hashlib.new(algorithm)
    except ValueError:
        raise Failed(
            f"Could not hash with algorithm '{algorithm}'; this host knows "
            f"{', '.join(sorted(hashlib.algorithms_available))}"
        ) from None
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _mime(path: str, info: os.stat_result) -> tuple[str, str]:
    if not stat.S_ISREG(info.st_mode):
        kinds = {
            stat.S_IFDIR: "directory",
            stat.S_IFLNK: "symlink",
            stat.S_IFIFO: "fifo",
            stat.S_IFSOCK: "socket",
            stat.S_IFCHR: "chardevice",
            stat.S_IFBLK: "blockdevice",
        }
        return f"inode/{kinds.get(stat.S_IFMT(info.st_mode), 'unknown')}", "binary"
    if not info.st_size:
        return "inode/x-empty", "binary"
    try:
        with open(path, "rb") as file:
            head = file.read(_SNIFFED)
    except OSError:
        return "unknown", "unknown"
    if b"\0" in head:
        return "application/octet-stream", "binary"
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return "application/octet-stream", "binary"
    return "text/plain", "us-ascii" if head.isascii() else "utf-8"


def _attributes(path: str, info: os.stat_result) -> dict[str, Any]:
    nothing: dict[str, Any] = {"attributes": [], "attr_flags": "", "version": None}
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        return nothing
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            answer = fcntl.ioctl(fd, _GET_FLAGS, b"\0" * 8)
        finally:
            os.close(fd)
    except OSError:
        return nothing
    flags = int.from_bytes(answer, "little")
    letters = [letter for letter, bit in _FLAGS.items() if flags & bit]
    return {
        "attributes": [_FLAG_NAMES[letter] for letter in letters],
        "attr_flags": "".join(letters),
        "version": None,
    }
