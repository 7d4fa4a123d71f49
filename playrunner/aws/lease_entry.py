"""Lease entries: what the versions of a lease's parameter say about who holds it.

Each write to a parameter makes a version, and versions are numbered without gaps. An entry names
the entry that its writer saw last. It counts when that is the one right before it, or when its
writer held the lease already; all others came too late. So one of two runs that take over the same
lease wins, in whatever order their calls arrive, and no clock decides it.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace
from email.utils import parsedate_to_datetime
from typing import Any

from playrunner.cloud.owner import who
from playrunner.frozen import frozen
from playrunner.record.processes import is_ancestor, is_running, machine, started_at
from playrunner.text.documents import json_object

_LONGEST = 200  # letters of a text in a message: whoever may write the parameter chose it


@frozen
class Entry:
    """One version of the parameter."""

    holder: str  # a run's own name for itself
    who: str
    host: str
    machine: str
    pid: int
    started: str  # when that process began
    command: str
    since: float  # when the run took the lease
    after: str = ""  # the entry that the writer saw last; empty for the first one
    write: str = ""  # this entry's own name
    version: int = 0
    age: float = 0.0  # seconds since it was written, by the service's own clock

    @property
    def of_this_machine(self) -> bool:
        return self.machine == machine()

    @property
    def is_dead(self) -> bool:
        """Whether its process is known to have ended."""
        return self.of_this_machine and not is_running(self.pid, self.started)

    @property
    def started_us(self) -> bool:
        """Whether this process is a step of the run that holds the lease."""
        return self.of_this_machine and not self.is_dead and is_ancestor(self.pid)

    def __str__(self) -> str:
        seconds = max(0, int(time.time() - self.since))
        text = f"{self.who}@{self.host} pid {self.pid}, since {seconds}s: {self.command}"
        return "".join(letter if letter.isprintable() else "?" for letter in text)[:_LONGEST]


def new_entry(command: str) -> Entry:
    """The entry of a run of this process."""
    pid = os.getpid()
    return Entry(
        uuid.uuid4().hex,
        who(),
        socket.gethostname(),
        machine(),
        pid,
        started_at(pid),
        command[:_LONGEST],
        time.time(),
    )


def as_value(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if name not in ("version", "age")}


def entry_from(answer: Any) -> Entry | None:
    """The entry in an answer of the service; None when it is no entry of ours."""
    parameter = answer["Parameter"]
    value = json_object(str(parameter["Value"])) or {}
    fields = Entry.__dataclass_fields__
    try:
        entry = Entry(**{name: value[name] for name in fields if name in value})
        entry = replace(entry, pid=int(entry.pid), since=float(entry.since))
    except (TypeError, ValueError, OverflowError):
        return None
    if any(not isinstance(getattr(entry, name), str) for name in ("holder", "after", "write")):
        return None
    written = parameter["LastModifiedDate"].timestamp()
    return replace(entry, version=int(parameter["Version"]), age=_time_of(answer) - written)


def holder_at(entry: Entry, earlier: Callable[[int], Entry | None]) -> Entry:
    """The entry by which the lease is held at this one; `earlier` gives the one of a version."""
    later = [entry]
    before = earlier(entry.version - 1)
    while before is not None and later[-1].after != before.write:
        later.append(before)
        before = earlier(before.version - 1)
    current = later.pop()
    for candidate, previous in zip(reversed(later), [current, *reversed(later)], strict=False):
        if candidate.holder == current.holder or candidate.after == previous.write:
            current = candidate
    return current


def _time_of(answer: Any) -> float:
    """When the service answered, by its own clock where it says so."""
    date = (answer.get("ResponseMetadata") or {}).get("HTTPHeaders", {}).get("date", "")
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return time.time()
