"""Intents: changes written to the ledger before they are asked for, with the token by which a
service knows them again."""

from __future__ import annotations

import threading
import time
import uuid
from pathlib import Path
from typing import Any

from playrunner.record.ledger import Ledger
from playrunner.record.past_runs import events

REMEMBERED_RUNS = 10
# Services forget tokens, too; and what was made so long ago is seen by now
REMEMBERED_SECONDS = 3600.0


class Intents:
    """A run's journal of changes; what an earlier run asked for and never heard of is asked for
    with the same token."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: dict[tuple[str, str], str] | None = None
        self._lock = threading.Lock()

    def event(self, kind: str, **facts: Any) -> None:
        self._ledger.event(kind, **facts)

    def token(self, subject: str, call: str) -> str:
        with self._lock:
            if self._open is None:
                self._open = _unanswered(self._ledger.folder)
            return self._open.pop((subject, call), "") or uuid.uuid4().hex


def _unanswered(current: Path) -> dict[tuple[str, str], str]:
    """The tokens of calls that earlier runs made and heard nothing of, unless something was heard
    of their subject since."""
    found: dict[tuple[str, str], str] = {}
    folders = sorted(
        path
        for path in current.parent.iterdir()
        if path.is_dir() and not path.is_symlink() and path != current
    )
    since = time.time() - REMEMBERED_SECONDS
    for folder in folders[-REMEMBERED_RUNS:]:
        for event in events(folder):
            if event.get("event") not in ("call", "answer") or event.get("at", 0) < since:
                continue
            subject = str(event.get("subject"))
            for key in [key for key in found if key[0] == subject]:
                del found[key]
            if event["event"] == "call" and event.get("token"):
                found[subject, str(event["call"])] = str(event["token"])
    return found
