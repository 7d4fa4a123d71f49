"""CallLog: every change in a cloud is written to the ledger before it is requested and once it is
answered, with the idempotency token by which the service recognises a repeated request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from playrunner.cloud.resource import Refused
from playrunner.record.ledger import Ledger

_CREATING = ("create_", "allocate_", "run_instances", "import_")
_DELETING = ("delete_", "release_", "terminate_")
REMEMBERED_RUNS = 10
# Services forget tokens as well; and what was created so long ago is visible by now.
REMEMBERED_SECONDS = 3600.0


class CallRecorder(Protocol):
    """What a client needs of a call log."""

    def event(self, kind: str, **facts: Any) -> None: ...

    def past_token(self, subject: str, call: str, stack: str = "") -> str: ...

    def created_at(self, subject: str, stack: str = "") -> float | None: ...


class CallLog:
    """A run's log of changes. A change that an earlier run requested and got no answer to is
    requested again with the same token."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # By subject, stack and call: the same playbook makes several stacks
        self._unanswered: dict[tuple[str, str, str], str] | None = None
        self._created: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def event(self, kind: str, **facts: Any) -> None:
        self._ledger.event(kind, **facts)

    def past_token(self, subject: str, call: str, stack: str = "") -> str:
        """The token of such a call that an earlier run got no answer to; empty where there is
        none."""
        with self._lock:
            self._read_past_runs()
            return (self._unanswered or {}).pop((subject, stack, call), "")

    def created_at(self, subject: str, stack: str = "") -> float | None:
        """When an earlier run asked for this thing to be made, unless it was deleted since; None
        when that was long ago. It may be there though nothing shows it yet."""
        with self._lock:
            self._read_past_runs()
            return self._created.get((subject, stack))

    def _read_past_runs(self) -> None:
        if self._unanswered is None:
            logged = list(_logged_calls(self._ledger.folder))
            self._unanswered, self._created = _unanswered_tokens(logged), _creations(logged)


@contextmanager
def logged_call(log: CallRecorder | None, **facts: Any) -> Iterator[None]:
    """Log a change before and after it. One that gets no answer has no second entry: the next run
    must look what was done."""
    if log is None:
        yield
        return
    log.event("call", **facts)
    answered = {name: value for name, value in facts.items() if name != "token"}
    try:
        yield
    except Refused as refusal:
        log.event("answer", **answered, outcome=refusal.code)
        raise
    log.event("answer", **answered, outcome="done")


def _logged_calls(current: Path) -> Iterator[dict[str, Any]]:
    """What earlier runs asked of clouds lately, oldest first."""
    folders = sorted(
        path
        for path in current.parent.iterdir()
        if path.is_dir() and not path.is_symlink() and path != current
    )
    from playrunner.record.past_runs import events

    since = time.time() - REMEMBERED_SECONDS
    for folder in folders[-REMEMBERED_RUNS:]:
        for event in events(folder):
            if event.get("event") in ("call", "answer") and event.get("at", 0) >= since:
                yield dict(event)


def _unanswered_tokens(logged: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], str]:
    """The tokens of calls that earlier runs made and got no answer to, unless something was logged
    about their subject since."""
    tokens: dict[tuple[str, str, str], str] = {}
    for event in logged:
        subject, stack = str(event.get("subject")), str(event.get("stack", ""))
        for key in [key for key in tokens if key[:2] == (subject, stack)]:
            del tokens[key]
        if event["event"] == "call" and event.get("token"):
            tokens[subject, stack, str(event["call"])] = str(event["token"])
    return tokens


def _creations(logged: Iterable[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """When each thing was last asked for that no later call deletes. One that was refused was not
    made."""
    created: dict[tuple[str, str], float] = {}
    for event in logged:
        subject = str(event.get("subject")), str(event.get("stack", ""))
        verb = str(event.get("call")).partition(".")[2]
        if verb.startswith(_DELETING):
            created.pop(subject, None)
        elif verb.startswith(_CREATING):
            if event["event"] == "call" or event.get("outcome") == "done":
                created[subject] = float(event["at"])
            else:
                created.pop(subject, None)
    return created
