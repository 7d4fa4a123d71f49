"""Where a rank stands, as it has written it down itself: its step, what it does, the collective it
is in."""

from __future__ import annotations

import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pulse(path: str, pid: int) -> dict[str, Any]:
    """What the process of this pid said last; nothing when the file is another one's, or not
    there."""
    try:
        with open(path, errors="replace") as file:
            line, _, rest = file.read().partition("\n")
    except OSError:
        return {}
    words = line.split()
    if len(words) != 5 or words[0] != str(pid):
        return {}
    return {
        "step": int(words[1]),
        "phase": words[2],
        "collective": "" if words[3] == "-" else words[3],
        "seconds": round(max(0.0, time.time() - float(words[4])), 1),
        "open": _open(rest),
    }


def _open(text: str) -> list[dict[str, Any]]:
    """The collectives that torch holds to be open; only known of a rank that stands still."""
    try:
        found = json.loads(text.strip() or "[]")
    except ValueError:
        return []  # being written just now
    return found if isinstance(found, list) else []
