"""Known host keys: which keys a host is known by, and recording one after it was shown."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paramiko import PKey

SYSTEM_FILES = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
USER_FILES = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")


def label(address: str, port: int) -> str:
    """How known_hosts files name a host: the port is told only when it is unusual."""
    return address if port == 22 else f"[{address}]:{port}"


def known_lines(files: tuple[str, ...], name: str) -> list[tuple[str, str]]:
    """(key type, base64 key) of every line that speaks of `name`; a revoked key never counts."""
    found = []
    for file in files:
        for line in _lines(str(Path(file).expanduser())):
            words = line.split()
            if len(words) >= 3 and not words[0].startswith("@") and _speaks_of(words[0], name):
                found.append((words[1], words[2]))
    return found


def fingerprint(key: PKey) -> str:
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def record(file: Path, name: str, key: PKey) -> None:
    """Add a key to a known_hosts file, whole or not at all."""
    file = file.expanduser()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = file.read_text() if file.exists() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    scratch = file.with_name(f".{file.name}.{os.getpid()}")
    with open(scratch, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write(f"{before}{name} {key.get_name()} {key.get_base64()}\n")
        out.flush()
        os.fsync(out.fileno())
    scratch.replace(file)
    _lines.cache_clear()


@cache
def _lines(file: str) -> tuple[str, ...]:
    try:
        return tuple(line for line in Path(file).read_text(errors="replace").splitlines()
                     if line.strip() and not line.startswith("#"))
    except OSError:
        return ()


def _speaks_of(patterns: str, name: str) -> bool:
    if patterns.startswith("|1|"):
        _, _, salt, digest = patterns.split("|")
        made = hmac.new(base64.b64decode(salt), name.encode(), hashlib.sha1).digest()
        return hmac.compare_digest(base64.b64encode(made).decode(), digest)
    if "*" not in patterns and "?" not in patterns and "!" not in patterns:
        return name in patterns.split(",")
    from fnmatch import fnmatchcase

    verdicts = [(pattern.startswith("!"), pattern.lstrip("!")) for pattern in patterns.split(",")]
    if any(negated and _matches(name, pattern, fnmatchcase) for negated, pattern in verdicts):
        return False
    return any(not negated and _matches(name, pattern, fnmatchcase) for negated, pattern in verdicts)


def _matches(name: str, pattern: str, fnmatchcase: object) -> bool:
    # Brackets are part of a name with a port here, not a set of letters.
    assert callable(fnmatchcase)
    return bool(fnmatchcase(name, pattern.replace("[", "[[]")))
