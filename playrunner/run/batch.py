"""Batch: the hosts that go through a play together, and where they wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playrunner.errors import Interrupted
from playrunner.model import Position

END: Position = (1 << 30,)


class Doomed(Exception):
    """The play ends for everyone: too many hosts failed, or one failed where none may."""


class PlayEnded(Exception):
    """`meta: end_play` and its like: the host goes no further, and nothing is wrong."""


@dataclass
class Outcome:
    """What a run_once step gave, for every other host to take over."""

    values: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    failed: bool = False


class Batch:
    """Hosts run on their own; this is all they share while they do."""

    def __init__(
        self,
        hosts: list[str],
        slots: threading.Semaphore,
        going: threading.Event,
        lockstep: bool = False,
        max_fail_percentage: float | None = None,
    ) -> None:
        self.hosts = hosts
        self.lockstep = lockstep
        self.failed: set[str] = set()
        self.unreachable: set[str] = set()
        self.doomed_at: Position | None = None  # where a failure ended the play for everyone
        self.ended = False
        self._slots, self._going, self._most_failed = slots, going, max_fail_percentage
        self._progress: dict[str, Position] = dict.fromkeys(hosts, (-2,))
        self._moved = threading.Condition()
        self._outcomes: dict[Position, Outcome] = {}
        self._leaders: dict[Position, str] = {}
        self._throttles: dict[Position, threading.Semaphore] = {}

    @property
    def active(self) -> list[str]:
        """Hosts still in the play, in their order."""
        return [
            host for host in self.hosts if host not in self.failed and host not in self.unreachable
        ]

    @contextmanager
    def slot(self) -> Iterator[None]:
        """One of the --forks places to work in."""
        with self._slots:
            yield

    def check_going(self, position: Position | None = None) -> None:
        if not self._going.is_set():
            raise Interrupted("interrupted")
        if self.doomed_at is not None and position is not None and position > self.doomed_at:
            raise Doomed  # the step that failed elsewhere is still done here, the next is not
        if self.ended:
            raise PlayEnded

    def reached(self, host: str, position: Position) -> None:
        """A host has done everything before this position."""
        with self._moved:
            if position > self._progress[host]:
                self._progress[host] = position
                self._moved.notify_all()

    def leave(self, host: str) -> None:
        self.reached(host, END)

    def meet(self, host: str, position: Position) -> str:
        """Wait until every host has come this far; the first of those that stand here is told."""
        self.wait_for_all(host, position)
        with self._moved:
            # Decided by whoever gets here first, while all who take part still stand here.
            if position not in self._leaders:
                here = (name for name in self.active if self._progress[name] == position)
                self._leaders[position] = next(here, host)
            return self._leaders[position]

    def wait_for(self, host: str, position: Position) -> None:
        """Wait until another host has done everything before this position."""
        if host in self._progress:
            self._wait(lambda: self._progress[host] >= position)

    def wait_for_all(self, host: str, position: Position) -> None:
        """Wait until every other host has done everything before this position."""
        self.reached(host, position)
        self._wait(lambda: all(reached >= position for reached in self._progress.values()))

    def fail(self, host: str, position: Position, fatal: bool) -> None:
        """A host is out; perhaps the play ends for the others, once they have done the step that
        failed."""
        self.failed.add(host)
        too_many = self._most_failed is not None and 100 * len(self.failed) / len(
            self.hosts
        ) > float(self._most_failed)
        if (fatal or too_many) and self.doomed_at is None:
            self.doomed_at = position

    def tell(self, position: Position, outcome: Outcome) -> None:
        with self._moved:
            self._outcomes[position] = outcome
            self._moved.notify_all()

    def hear(self, position: Position) -> Outcome:
        """What the first host's run_once step gave."""
        self._wait(lambda: position in self._outcomes)
        return self._outcomes[position]

    @contextmanager
    def throttled(self, position: Position, limit: int) -> Iterator[None]:
        with self._moved:
            gate = self._throttles.setdefault(position, threading.Semaphore(limit))
        with gate:
            yield

    def sleep(self, seconds: float) -> None:
        """Wait without holding a place; Ctrl-C ends it at once."""
        if seconds > 0:
            with self._moved:
                self._moved.wait_for(lambda: not self._going.is_set(), seconds)
            self.check_going()

    def wake(self) -> None:
        with self._moved:
            self._moved.notify_all()

    def _wait(self, ready: Callable[[], bool]) -> None:
        # The place is given up while waiting: the host waited for may need it.
        with self._moved:
            if ready():
                return
        self._slots.release()
        try:
            with self._moved:
                self._moved.wait_for(lambda: ready() or not self._going.is_set())
        finally:
            self._slots.acquire()
        if not self._going.is_set():
            raise Interrupted("interrupted")
