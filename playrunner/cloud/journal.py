"""Journal: where changes in a cloud are written down, before they are asked for and once they are
answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from playrunner.cloud.resource import Refused


class Journal(Protocol):
    """What a client needs of the ledger."""

    def event(self, kind: str, **facts: Any) -> None: ...

    def token(self, subject: str, call: str) -> str: ...


@contextmanager
def written_down(journal: Journal | None, **facts: Any) -> Iterator[None]:
    """A change between its two notes. One that gets no answer has no second note: whoever comes
    next must look."""
    if journal is None:
        yield
        return
    journal.event("call", **facts)
    answered = {name: value for name, value in facts.items() if name != "token"}
    try:
        yield
    except Refused as refusal:
        journal.event("answer", **answered, outcome=refusal.code)
        raise
    journal.event("answer", **answered, outcome="done")
