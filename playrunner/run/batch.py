"""Batch: the hosts that run a play at the same time, and where they wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from playrunner.errors import Interrupted
from playrunner.frozen import mutable
from playrunner.model import Position

END: Position = (1 << 30,)


class PlayAborted(Exception):
    """The play ends for all hosts at once: too many failed (max_fail_percentage), or one met what
    ends the run."""


class MarkedFailed(Exception):
    """A step failed on another host, and any_errors_fatal or run_once makes this host fail too.

    Like Ansible, run_once marks the other hosts twice (`times`), so that the second mark ends what
    the first began: the `rescue` of the block around the step."""

    def __init__(self, times: int = 1) -> None:
        super().__init__()
        self.times = times


class PlayEnded(Exception):
    """`meta: end_play` or `end_batch`: the play ends for every host, without a failure."""


class HostEnded(Exception):
    """`meta: end_host`: the play ends for this host, without a failure."""


@mutable
class Outcome:
    """The result of a run_once step, for every other host to use."""

    values: dict[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    marks: int = 0  # how often the other hosts are marked as failed, because the step failed


class Batch:
    """The hosts of a play that run at the same time, each in its thread, and what they share."""

    def __init__(
        self,
        hosts: list[str],
        slots: threading.Semaphore,
        running: threading.Event,
        lockstep: bool = False,
        max_fail_percentage: float | None = None,
    ) -> None:
        self.hosts = hosts
        self.lockstep = lockstep
        self.failed: set[str] = set()
        self.unreachable: set[str] = set()
        # Hosts that failed because another did; rescued or not, the next play is without them
        self.marked: set[str] = set()
        self.times_cleared = 0  # by `meta: clear_host_errors`
        self.aborted_at: Position | None = None  # where the play ended for all
        self.ended_at: Position | None = None  # where end_play or end_batch stands
        # Failures that are fatal for every host: where, and the hosts that failed there themselves
        self.fatal: dict[Position, set[str]] = {}
        # Includes in which a host found steps that write files of this machine
        self.writing_includes: set[Position] = set()
        self._started: dict[str, Position] = dict.fromkeys(hosts, (-2,))
        self._watched = False  # a host waits until others have started a step
        self._removed: dict[str, Position] = {}  # since when a host is not in the play any more
        self._counted: set[str] = set()  # failed hosts, as max_fail_percentage counts them
        self._slots, self._running, self._most_failed = slots, running, max_fail_percentage
        self._progress: dict[str, Position] = dict.fromkeys(hosts, (-2,))
        lock = threading.RLock()
        self._moved, self._all_here = threading.Condition(lock), threading.Condition(lock)
        self._watching = 0  # threads that wait for any host to move
        # How many hosts are still before a position that all others wait at; counted, since a
        # thousand hosts that each look at a thousand others take minutes
        self._behind: dict[Position, int] = {}
        self._outcomes: dict[Position, Outcome] = {}
        self._leaders: dict[Position, str] = {}
        self._throttles: dict[Position, threading.Semaphore] = {}

    @property
    def active(self) -> list[str]:
        """Hosts still in the play, in their order."""
        return [
            host for host in self.hosts if host not in self.failed and host not in self.unreachable
        ]

    def remaining(self, position: Position | None) -> list[str]:
        """Hosts that were still in the play before the step at this position."""
        return [host for host in self.hosts if not self.has_left(host, position)]

    def has_left(self, host: str, position: Position | None) -> bool:
        removed = self._removed.get(host)
        return removed is not None and (position is None or removed < position)

    def remove(self, host: str, position: Position) -> None:
        """The host leaves the play after the step at this position."""
        self._removed.setdefault(host, position)

    def clear_errors(self) -> None:
        self.times_cleared += 1
        self.failed.clear()
        self.unreachable.clear()
        self.marked.clear()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """One of the --forks slots; a host holds one while it works."""
        with self._slots:
            yield

    def check_running(self, position: Position | None = None) -> None:
        if not self._running.is_set():
            raise Interrupted("interrupted")
        if self.aborted_at is not None and position is not None and position > self.aborted_at:
            raise PlayAborted  # the step that failed on another host still ran on this one
        if self.ended_at is not None and position is not None and position > self.ended_at:
            raise PlayEnded

    def reached(self, host: str, position: Position) -> None:
        """A host has done everything before this position."""
        with self._moved:
            before = self._progress[host]
            if position <= before:
                return
            self._progress[host] = position
            for awaited in [here for here in self._behind if before < here <= position]:
                self._behind[awaited] -= 1
                if not self._behind[awaited]:
                    del self._behind[awaited]
                    self._all_here.notify_all()
            if self._watching:
                self._moved.notify_all()

    def starts(self, host: str, position: Position) -> None:
        """A host comes to the step at this position."""
        self._started[host] = position
        if self._watched:
            self.wake()

    def all_started(self, position: Position) -> bool:
        """Whether every host has come to a step after this position."""
        return all(
            started > position or self._progress[host] > position
            for host, started in self._started.items()
        )

    def wait_until_started(self, position: Position) -> None:
        self._watched = True
        self._wait(lambda: self.all_started(position))

    def leave(self, host: str) -> None:
        self.reached(host, END)

    def meet(self, host: str, position: Position) -> str:
        """Wait until every host has come this far; returns the first host that is at this step."""
        self.wait_for_all(host, position)
        with self._moved:
            # Decided by the first thread that gets the lock, while all hosts still wait here.
            if position not in self._leaders:
                waiting = (name for name in self.active if self._progress[name] == position)
                self._leaders[position] = next(waiting, host)
            return self._leaders[position]

    def wait_for(self, host: str, position: Position) -> None:
        """Wait until another host has done everything before this position."""
        if host in self._progress:
            self._wait(lambda: self._progress[host] >= position)

    def wait_for_all(self, host: str, position: Position) -> None:
        """Wait until every other host has done everything before this position."""
        self.reached(host, position)
        with self._moved:
            if position not in self._behind:
                behind = sum(reached < position for reached in self._progress.values())
                if behind:
                    self._behind[position] = behind
        self._wait(lambda: position not in self._behind, self._all_here)

    def wait_for_earlier(self, host: str, position: Position) -> None:
        """Wait until every host before this one has done the step at this position."""
        earlier = self.hosts[: self.hosts.index(host)]
        self._wait(lambda: all(self._progress[each] > position for each in earlier))

    def note_failure(
        self, host: str, position: Position, *, fatal: bool, rescued: bool, counts: bool
    ) -> None:
        """A step failed on a host; called before the host goes on, so that none runs past it."""
        with self._moved:
            if not rescued:
                self.remove(host, position)
            if fatal and len(self.hosts) > 1:
                self.fatal.setdefault(position, set()).add(host)
            if counts:
                self._counted.add(host)
            if self._most_failed is None or self.aborted_at is not None:
                return
            share = 1.0 if fatal else len(self._counted) / len(self.hosts)
            if 100 * share > self._most_failed and (counts or fatal):
                self.aborted_at = position

    def abort(self, host: str, position: Position) -> None:
        """End the play for all hosts, because of what a host met at this position."""
        with self._moved:
            self.failed.add(host)
            self.remove(host, position)
            if self.aborted_at is None or position < self.aborted_at:
                self.aborted_at = position

    def mark_failed(self, host: str, position: Position, times: int = 1) -> None:
        """Raise MarkedFailed: another host's failure at this position is this host's, too."""
        self.marked.add(host)
        self.remove(host, position)
        raise MarkedFailed(times)

    def mark_rest(self) -> None:
        """At the end: hosts that were done before a fatal failure count as failed all the same."""
        for failed in self.fatal.values():
            self.marked |= set(self.hosts) - failed

    def publish_result(self, position: Position, outcome: Outcome) -> None:
        with self._moved:
            self._outcomes[position] = outcome
            self._moved.notify_all()

    def wait_for_result(self, position: Position) -> Outcome:
        """The result of a run_once step, which another host runs."""
        self._wait(lambda: position in self._outcomes)
        return self._outcomes[position]

    @contextmanager
    def throttled(self, position: Position, limit: int) -> Iterator[None]:
        with self._moved:
            semaphore = self._throttles.setdefault(position, threading.Semaphore(limit))
        with semaphore:
            yield

    def sleep(self, seconds: float) -> None:
        """Sleep; Ctrl-C ends it at once."""
        if seconds > 0:
            with self._moved:
                self._moved.wait_for(lambda: not self._running.is_set(), seconds)
            self.check_running()

    def wake(self) -> None:
        with self._moved:
            self._moved.notify_all()
            self._all_here.notify_all()

    def _wait(self, ready: Callable[[], bool], notified: threading.Condition | None = None) -> None:
        # The slot is released while waiting: the host that is waited for may need it.
        with self._moved:
            if ready():
                return
            self._watching += notified is None
        self._slots.release()
        try:
            with self._moved:
                (notified or self._moved).wait_for(lambda: ready() or not self._running.is_set())
        finally:
            with self._moved:
                self._watching -= notified is None
            self._slots.acquire()
        if not self._running.is_set():
            raise Interrupted("interrupted")
