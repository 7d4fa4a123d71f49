"""known_hosts files, read as OpenSSH reads them: looks up host keys and records new ones."""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from playrunner.frozen import frozen, mutable

if TYPE_CHECKING:
    from paramiko import PKey

SYSTEM_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"
_SALT_BYTES = 20  # of a hashed name: a SHA-1 digest's length, as ssh-keygen -H writes it


@frozen
class Line:
    """One line of a known_hosts file that OpenSSH would accept."""

    file: str
    number: int
    marker: str
    patterns: str
    kind: str
    key: bytes

    @property
    def is_pattern(self) -> bool:
        """Whether it has wildcards; ssh-keygen -R does not remove such lines."""
        return any(letter in self.patterns for letter in "*?!")

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


@frozen
class KeyStatus:
    """Whether a key is known, unknown, changed or revoked, and the line that decides it."""

    state: str
    line: Line | None = None
    by_authority: bool = False  # a certificate authority is trusted for this host


def label(address: str, port: int) -> str:
    """A host's name in known_hosts: the port is part of it when it is not 22."""
    return address if port == 22 else f"[{address}]:{port}"


def key_status(files: Iterable[str], names: Iterable[str], key: PKey) -> KeyStatus:
    """The status of a key in the files; further names are tried only while the key is unknown.

    OpenSSH also looks up a host on another port than 22 under its plain name, where only a match
    counts. A key revoked there is refused here, which OpenSSH does not do.
    """
    files, offered = tuple(files), key.asbytes()
    first, *others = names
    status = _key_status_under(files, first, offered)
    for name in others if status.state == "unknown" else ():
        other = _key_status_under(files, name, offered)
        if other.state in ("known", "revoked"):
            return other
    return status


def known_kinds(files: Iterable[str], names: Iterable[str]) -> list[str]:
    """The types of the keys a host is known by; requested first, so that the host presents one of
    them."""
    files = tuple(files)
    for name in names:
        kinds = [line.kind for line in _lines_about(files, name) if not line.marker]
        if kinds:
            return list(dict.fromkeys(kinds))
    return []


def fingerprint(key: PKey) -> str:
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def record(file: Path, name: str, key: PKey) -> None:
    """Append a key to a known_hosts file, once, also when several runs do so at the same time."""
    file = file.expanduser()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = f"{name} {key.get_name()} {key.get_base64()}\n".encode()
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "rb+", buffering=0) as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        before = out.read() or b""
        if line not in before.splitlines(keepends=True):
            out.write(b"\n" * (before[-1:] not in (b"", b"\n")) + line)


def _key_status_under(files: tuple[str, ...], name: str, offered: bytes) -> KeyStatus:
    status = KeyStatus("unknown")
    by_authority = False
    for line in _lines_about(files, name):
        if line.marker == _REVOKED:
            if line.key == offered:
                return KeyStatus("revoked", line)
        elif line.marker == _AUTHORITY:
            by_authority = True
        elif line.key == offered:
            status = KeyStatus("known", line)
        elif status.state == "unknown" and _is_whole(line.kind, line.key):
            status = KeyStatus("changed", line)
    return KeyStatus(status.state, status.line, by_authority)


def _is_whole(kind: str, key: bytes) -> bool:
    """Whether the line's key parses; OpenSSH ignores a line whose key is truncated."""
    import paramiko

    try:
        paramiko.PKey.from_type_string(kind, key)
    except paramiko.pkey.UnknownKeyType:
        return True  # one that OpenSSH may know
    except Exception:  # parsers raise any error on garbage
        return False
    return True


@mutable
class _Index:
    """A file's lines: those that list plain names by name, and the others, which must be tried."""

    named: dict[str, list[Line]] = field(default_factory=dict)
    others: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        if line.is_pattern or line.patterns.startswith("|"):
            self.others.append(line)
        else:
            for name in dict.fromkeys(line.patterns.lower().split(",")):
                self.named.setdefault(name, []).append(line)


def _lines_about(files: tuple[str, ...], name: str) -> Iterator[Line]:
    name = name.lower()
    for file in files:
        index = _index(os.path.expanduser(file))
        yield from index.named.get(name, ())
        yield from (line for line in index.others if _is_about(line.patterns, name))


_Stamp = tuple[int, int, int]
_read: dict[str, tuple[_Stamp, _Index]] = {}  # files as they were when they were last read


def _index(file: str) -> _Index:
    """The file's lines that OpenSSH would accept; it ignores the others."""
    try:
        status = os.stat(file)
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if file not in _read or _read[file][0] != stamp:
            _read[file] = stamp, _indexed(file, Path(file).read_text(errors="replace"))
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return _Index()
    return _read[file][1]


def _indexed(file: str, text: str) -> _Index:
    index = _Index()
    for number, written in enumerate(text.split("\n"), 1):
        line = _parsed(file, number, written)
        if line:
            index.add(line)
    return index


def _parsed(file: str, number: int, written: str) -> Line | None:
    fields = written.split()
    marker = fields.pop(0) if fields and fields[0].startswith("@") else ""
    if (
        len(fields) < 3
        or fields[0].startswith(("#", "@"))
        or marker not in ("", _AUTHORITY, _REVOKED)
    ):
        return None
    try:
        key = base64.b64decode(fields[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = fields[1].encode()
    if not key.startswith(len(kind).to_bytes(4, "big") + kind):
        return None  # its own bytes say another type
    return Line(file, number, marker, fields[0], fields[1], key)


def _is_about(patterns: str, name: str) -> bool:
    if patterns.startswith("|"):
        return _is_hash_of(patterns, name)
    parsed = [
        (pattern.startswith("!"), pattern.removeprefix("!"))
        for pattern in patterns.lower().split(",")
    ]
    if any(negated and _matches(name, pattern) for negated, pattern in parsed):
        return False
    return any(not negated and _matches(name, pattern) for negated, pattern in parsed)


def _is_hash_of(text: str, name: str) -> bool:
    try:
        empty, kind, salt, digest = text.split("|")
        bytes_of_salt = base64.b64decode(salt, validate=True)
    except ValueError:  # also raised by base64
        return False
    if empty or kind != "1" or len(bytes_of_salt) != _SALT_BYTES:
        return False
    made = hmac.new(bytes_of_salt, name.encode(errors="replace"), hashlib.sha1).digest()
    return hmac.compare_digest(base64.b64encode(made), digest.encode(errors="replace"))


def _matches(name: str, pattern: str) -> bool:
    """OpenSSH has only the wildcards * and ?; brackets are part of a name with a port."""
    return bool(_pattern(pattern).fullmatch(name))


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Repeated stars are one: several would make matching exponential.
    parts = (
        ".*" if part[0] == "*" else "." if part == "?" else re.escape(part)
        for part in re.findall(r"\*+|\?|[^*?]+", text)
    )
    return re.compile("".join(parts), re.DOTALL)
