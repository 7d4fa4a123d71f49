"""The operator's keys of the pretend AWS: random, and kept in a file that their owner alone can
read."""

from __future__ import annotations

import hmac
import json
import secrets
import string
from pathlib import Path

from playrunner.sandbox.state import write_file

_FILE = "keys.json"
_LETTERS = string.ascii_uppercase + "234567"  # of which AWS makes the names of keys


def made() -> tuple[str, str]:
    """A new key: its name and its secret."""
    return name("AKIA"), secrets.token_urlsafe(30)


def name(prefix: str) -> str:
    return prefix + "".join(secrets.choice(_LETTERS) for _ in range(16))


def write(folder: Path, pair: tuple[str, str]) -> None:
    """For the server that keeps its things in this folder."""
    write_file(folder / _FILE, json.dumps(pair) + "\n")


def read(folder: Path) -> tuple[str, str]:
    key_id, secret = json.loads((folder / _FILE).read_text())
    return key_id, secret


def same(one: str, other: str) -> bool:
    """Whether two secrets are the same, told in a time that says nothing about them."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
