"""Known host keys, read as OpenSSH reads them: what is known of a host's key, and recording a new
one."""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paramiko import PKey

SYSTEM_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"
_SALT_BYTES = 20  # of a hashed name: a SHA-1 digest's length, as ssh-keygen -H writes it


@dataclass(frozen=True)
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
        """Whether it may speak of more than the names it lists, so that ssh-keygen -R leaves it
        alone."""
        return any(letter in self.patterns for letter in "*?!")

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True)
class Verdict:
    """What known_hosts says of a key: known, unknown, changed or revoked, and the line that says
    so."""

    word: str
    line: Line | None = None
    by_authority: bool = False  # a certificate authority is trusted for this host


def label(address: str, port: int) -> str:
    """How known_hosts files name a host: the port is given only when it is not 22."""
    return address if port == 22 else f"[{address}]:{port}"


def judge(files: Iterable[str], names: Iterable[str], key: PKey) -> Verdict:
    """What the files say of a key; each further name is asked only while the key is unknown.

    OpenSSH looks up a host on another port than 22 under its plain name too, where only a match
    counts. A key that is revoked there is refused as well, which OpenSSH does not do.
    """
    files, offered = tuple(files), key.asbytes()
    first, *others = names
    verdict = _judged(files, first, offered)
    for name in others if verdict.word == "unknown" else ():
        other = _judged(files, name, offered)
        if other.word in ("known", "revoked"):
            return other
    return verdict


def known_kinds(files: Iterable[str], names: Iterable[str]) -> list[str]:
    """The types of the keys a host is known by: asked for first, so that it shows one that can be
    compared."""
    files = tuple(files)
    for name in names:
        found = [line.kind for line in _lines_about(files, name) if not line.marker]
        if found:
            return list(dict.fromkeys(found))
    return []


def fingerprint(key: PKey) -> str:
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def record(file: Path, name: str, key: PKey) -> None:
    """Append a key to a known_hosts file in one write, once, however many runs record it at the
    same time."""
    file = file.expanduser()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = f"{name} {key.get_name()} {key.get_base64()}\n".encode()
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "rb+", buffering=0) as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        before = out.read() or b""
        if line not in before.splitlines(keepends=True):
            out.write(b"\n" * (before[-1:] not in (b"", b"\n")) + line)


def _judged(files: tuple[str, ...], name: str, offered: bytes) -> Verdict:
    verdict = Verdict("unknown")
    by_authority = False
    for line in _lines_about(files, name):
        if line.marker == _REVOKED:
            if line.key == offered:
                return Verdict("revoked", line)
        elif line.marker == _AUTHORITY:
            by_authority = True
        elif line.key == offered:
            verdict = Verdict("known", line)
        elif verdict.word == "unknown" and _is_whole(line.kind, line.key):
            verdict = Verdict("changed", line)
    return Verdict(verdict.word, verdict.line, by_authority)


def _is_whole(kind: str, key: bytes) -> bool:
    """Whether a key that differs is one at all; OpenSSH passes over a line whose key is cut short."""
    import paramiko

    try:
        paramiko.PKey.from_type_string(kind, key)
    except paramiko.pkey.UnknownKeyType:
        return True  # one that OpenSSH may know
    except Exception:  # whatever the parser of this type makes of rubbish
        return False
    return True


@dataclass
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
    """The file's lines that OpenSSH would accept; it passes over the others, and so do we."""
    try:
        found = os.stat(file)
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
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
    words = written.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if (
        len(words) < 3
        or words[0].startswith(("#", "@"))
        or marker not in ("", _AUTHORITY, _REVOKED)
    ):
        return None
    try:
        key = base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = words[1].encode()
    if not key.startswith(len(kind).to_bytes(4, "big") + kind):
        return None  # its own bytes say another type
    return Line(file, number, marker, words[0], words[1], key)


def _is_about(patterns: str, name: str) -> bool:
    if patterns.startswith("|"):
        return _is_hash_of(patterns, name)
    wanted = [
        (pattern.startswith("!"), pattern.removeprefix("!"))
        for pattern in patterns.lower().split(",")
    ]
    if any(negated and _matches(name, pattern) for negated, pattern in wanted):
        return False
    return any(not negated and _matches(name, pattern) for negated, pattern in wanted)


def _is_hash_of(text: str, name: str) -> bool:
    try:
        empty, kind, salt, digest = text.split("|")
        bytes_of_salt = base64.b64decode(salt, validate=True)
    except ValueError:  # also what base64 says
        return False
    if empty or kind != "1" or len(bytes_of_salt) != _SALT_BYTES:
        return False
    made = hmac.new(bytes_of_salt, name.encode(errors="replace"), hashlib.sha1).digest()
    return hmac.compare_digest(base64.b64encode(made), digest.encode(errors="replace"))


def _matches(name: str, pattern: str) -> bool:
    """OpenSSH knows * and ? alone: brackets are part of a name with a port."""
    return bool(_pattern(pattern).fullmatch(name))


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # A row of stars is one star: more would take exponentially long to fail.
    parts = (
        ".*" if part[0] == "*" else "." if part == "?" else re.escape(part)
        for part in re.findall(r"\*+|\?|[^*?]+", text)
    )
    return re.compile("".join(parts), re.DOTALL)
