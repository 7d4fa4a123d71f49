"""The secret that authorizes control requests to a pretend cloud: random, new at each start, in a
file that its owner alone can read.

The file holds the header itself, so that `curl -H @FILE` sends it and no command line ever shows
it.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from playrunner.sandbox.state import write_file

FILE = "control-header"
_NAME = "Authorization"
REFUSAL = b'{"error": "the header in the file control-header of its folder is needed"}'


def make(folder: Path) -> None:
    """A new one for the server that keeps its things in this folder."""
    write(folder, secrets.token_urlsafe(32))


def write(folder: Path, token: str) -> None:
    write_file(folder / FILE, f"{_NAME}: Bearer {token}\n")


def header(folder: Path) -> dict[str, str]:
    """What a request must carry; OSError where there is none."""
    name, _, value = (folder / FILE).read_text().strip().partition(": ")
    return {name: value}


def is_right(folder: Path, authorization: str) -> bool:
    """Whether a request's Authorization is the one in the file."""
    expected = header(folder)[_NAME]
    return hmac.compare_digest(authorization.encode(errors="replace"), expected.encode())
