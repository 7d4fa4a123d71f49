"""The launches that wait for nodes: one file each in the state folder, changed under one lock."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, field, fields, replace
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.record.ledger import recording_in, state_directory
from playrunner.record.processes import is_running, machine
from playrunner.text import atomic_write
from playrunner.text.documents import read_json_object
from playrunner.text.file_lock import file_lock
from playrunner.text.safe_path import file_name
from playrunner.training.request import Request

WAITING, STARTING, STARTED, FAILED = "waiting", "starting", "started", "failed"
_SUFFIX = ".json"
_NOT_KEPT = ("become_password",)


@frozen
class Owner:
    """The process that waits, as it can be told from later ones of its number."""

    pid: int = 0
    started: str = ""
    host: str = ""
    machine: str = ""

    @property
    def ended(self) -> bool:
        """One on another machine that shares the state folder counts as alive."""
        if self.host != socket.gethostname():
            return False
        return self.machine != machine() or not is_running(self.pid, self.started)


@frozen
class Entry:
    name: str  # the run's
    priority: int
    submitted: float
    nodes: int
    pool: tuple[str, ...]  # addresses of the nodes that would do
    folder: str  # where it was typed
    program: str  # as it was typed
    request: dict[str, Any]
    options: dict[str, Any]
    state: str = WAITING
    owner: Owner = field(default_factory=Owner)
    attempts: int = 0  # processes that have waited for it
    hosts: tuple[str, ...] = ()  # chosen, while it starts
    taken: tuple[str, ...] = ()  # the same by address
    note: str = ""  # what it waits for, or why it failed

    def launch_request(self) -> Request:
        known = {each.name for each in fields(Request)}
        return Request(**_tuples({key: self.request[key] for key in self.request if key in known}))

    def launch_options(self) -> Options:
        known = {each.name for each in fields(Options)}
        return Options(**_tuples({key: self.options[key] for key in self.options if key in known}))


def new_entry(
    request: Request, options: Options, priority: int, pool: tuple[str, ...], program: str
) -> Entry:
    kept = {key: value for key, value in asdict(options).items() if key not in _NOT_KEPT}
    folder, now = str(Path.cwd()), time.time()
    return Entry(
        request.name, priority, now, request.nodes, pool, folder, program, asdict(request), kept
    )


class Queue:
    def __init__(self) -> None:
        self.folder = state_directory() / "training" / "queue"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Whoever changes an entry holds it; it is released while a node is asked."""
        with ExitStack() as held:
            with recording_in(self.folder):
                self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
                held.enter_context(file_lock(self.folder / ".lock"))
            yield

    def entries(self) -> list[Entry]:
        """Those that wait or start, first the next; then those that failed."""
        names = [path.name[: -len(_SUFFIX)] for path in self.folder.glob(f"*{_SUFFIX}")]
        found = [entry for name in names if (entry := self.read(name))]
        live = [entry for entry in found if entry.state != STARTED]
        return sorted(live, key=lambda entry: (entry.state == FAILED, *_order(entry)))

    def read(self, name: str) -> Entry | None:
        try:
            values = _tuples(read_json_object(self._file(name)))
            return Entry(**{**values, "owner": Owner(**values.get("owner", {}))})
        except (BadInput, TypeError):
            return None

    def write(self, entry: Entry) -> Entry:
        text = json.dumps(asdict(entry), indent=1) + "\n"
        atomic_write.write_text(self._file(entry.name), text, mode=0o600)
        return entry

    def remove(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def log(self, name: str) -> Path:
        return self.folder / f"{file_name(name)}.log"

    def ahead(self, entry: Entry) -> list[Entry]:
        """Those that come before it and want some of the same nodes."""
        return [
            other
            for other in self.entries()
            if other.state == WAITING
            and _order(other) < _order(entry)
            and set(other.pool) & set(entry.pool)
        ]

    def taken(self) -> set[str]:
        """Addresses of nodes on which another launch starts right now."""
        return {node for entry in self.entries() if entry.state == STARTING for node in entry.taken}

    def _file(self, name: str) -> Path:
        return self.folder / f"{file_name(name)}{_SUFFIX}"


def waiting_again(entry: Entry, note: str) -> Entry:
    return replace(entry, state=WAITING, hosts=(), taken=(), note=note)


def _order(entry: Entry) -> tuple[int, float, str]:
    return -entry.priority, entry.submitted, entry.name


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}
