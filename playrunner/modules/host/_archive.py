"""Archives as lists of members, whether tar (plain, gzip, bzip2, xz, zstd) or zip; none may leave
its folder."""

from __future__ import annotations

import os
import stat
import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._content import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ZSTD = b"\x28\xb5\x2f\xfd"
_HANDLERS = {
    b"\x1f\x8b": "TgzArchive",
    b"BZ": "TarBzipArchive",
    b"\xfd7": "TarXzArchive",
    _ZSTD[:2]: "TarZstdArchive",
}


class Member:
    """One thing in an archive."""

    def __init__(
        self,
        name: str,
        kind: str,
        mode: int,
        mtime: float,
        size: int = 0,
        target: str = "",
        owner: tuple[str, int] = ("", -1),
        group: tuple[str, int] = ("", -1),
        source: Any = None,
    ) -> None:
        self.name, self.kind, self.mode, self.mtime, self.size, self.target = (
            name,
            kind,
            mode,
            mtime,
            size,
            target,
        )
        self.owner, self.group, self._source = owner, group, source

    def chunks(self) -> Iterator[bytes]:
        with self._source() as stream:
            while True:
                chunk = stream.read(1024 * 1024)
                if not chunk:
                    return
                yield chunk


def members_of(path: str, data: Any = None) -> tuple[str, list[Member]]:
    """What the archive is called, and what is in it; `data` is the archive itself when it is not at
    `path`."""
    import io
    import tarfile

    if data is None:
        with open(path, "rb") as file:
            head = file.read(4)
    else:
        head = data[:4]
    if head == _ZSTD:
        data = _unpacked(path, data)
    if head[:2] == b"PK":
        return "ZipArchive", _zip_members(io.BytesIO(data) if data is not None else path, path)
    try:
        # Left open: members are read from it when they are compared or unpacked.
        archive = tarfile.open(fileobj=io.BytesIO(data)) if data is not None else tarfile.open(path)  # noqa: SIM115
        return _HANDLERS.get(head[:2], "TarArchive"), [
            _tar_member(archive, info) for info in archive.getmembers()
        ]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise Failed(
            f'Failed to find handler for "{path}": it is neither a tar nor a zip archive ({error});'
            " make sure that the file is whole"
        ) from None


def _tar_member(archive: Any, info: Any) -> Member:
    kinds = [
        ("directory", info.isdir()),
        ("link", info.issym()),
        ("hard", info.islnk()),
        ("file", info.isreg()),
    ]
    kind = next((kind for kind, yes in kinds if yes), "special")
    target = _safe(info.linkname, "a hard link to ") if kind == "hard" else info.linkname
    return Member(
        _safe(info.name),
        kind,
        info.mode & 0o7777,
        info.mtime,
        info.size,
        target,
        (info.uname, info.uid),
        (info.gname, info.gid),
        lambda: archive.extractfile(info),
    )


def _zip_members(source: Any, path: str) -> list[Member]:
    import zipfile

    try:
        archive = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise Failed(
            f'Failed to find handler for "{path}": {error}; make sure that the file is whole'
        ) from None
    members = []
    for info in archive.infolist():
        mode = info.external_attr >> 16
        modified = time.mktime((*info.date_time, 0, 0, -1))
        if info.is_dir():
            members.append(
                Member(_safe(info.filename), "directory", stat.S_IMODE(mode) or 0o755, modified)
            )
        elif stat.S_ISLNK(mode):
            members.append(
                Member(
                    _safe(info.filename),
                    "link",
                    0o777,
                    modified,
                    target=os.fsdecode(archive.read(info)),
                )
            )
        else:
            members.append(
                Member(
                    _safe(info.filename),
                    "file",
                    stat.S_IMODE(mode) or 0o644,
                    modified,
                    info.file_size,
                    source=lambda info=info: archive.open(info),
                )
            )
    return members


def _safe(name: str, what: str = "") -> str:
    """The member's path below the folder it is unpacked in; one that would leave it is refused."""
    path = os.path.normpath(name)
    if path.startswith("/") or path == ".." or path.startswith("../") or "\0" in path:
        raise Failed(
            f"the archive holds {what}{name}, which lies outside the folder it is unpacked in; it"
            " is not unpacked"
        )
    return path


def _unpacked(path: str, data: Any) -> bytes:
    """Zstandard is not in the standard library before Python 3.14; the program of that name does
    it."""
    import subprocess

    try:
        done = subprocess.run(
            ["zstd", "-dc"],
            input=read_bytes(path) if data is None else data,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise Failed(
            f"{path} is packed with zstd, which this host does not have; install the package zstd"
        ) from None
    if done.returncode:
        raise Failed(f"{path} cannot be unpacked: {done.stderr.decode(errors='replace').strip()}")
    unpacked: bytes = done.stdout
    return unpacked


def packed_owner(member: Member) -> tuple[int, int]:
    import grp
    import pwd

    try:
        uid = pwd.getpwnam(member.owner[0]).pw_uid
    except KeyError:
        uid = member.owner[1]
    try:
        return uid, grp.getgrnam(member.group[0]).gr_gid
    except KeyError:
        return uid, member.group[1]


def topmost(paths: list[str]) -> list[str]:
    """Those that do not lie below another of them."""
    chosen: list[str] = []
    for path in sorted(paths):
        if not chosen or not (path + "/").startswith(chosen[-1] + "/"):
            chosen.append(path)
    return chosen
