"""Keys that wait to be looked at: each once, some only later, and never the same one twice at a
time."""

from __future__ import annotations

import heapq
import threading
import time

from playrunner.sandbox.kube.controllers.framework.resources import Key

FIRST_RETRY_SECONDS = 0.05
MOST_RETRY_SECONDS = 5.0


class WorkQueue:
    """First in, first out; what is added while it is being worked on waits until that is done."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ready: dict[Key, None] = {}
        self._at_work: set[Key] = set()
        self._again: set[Key] = set()
        self._later: list[tuple[float, Key]] = []
        self._failures: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        with self._changed:
            self._add(key)

    def add_after(self, key: Key, seconds: float) -> None:
        with self._changed:
            heapq.heappush(self._later, (time.monotonic() + seconds, key))
            self._changed.notify()

    def retry(self, key: Key) -> None:
        """After a failure: later each time."""
        with self._changed:
            count = self._failures[key] = self._failures.get(key, 0) + 1
        self.add_after(key, min(FIRST_RETRY_SECONDS * 2.0 ** (count - 1), MOST_RETRY_SECONDS))

    def succeeded(self, key: Key) -> None:
        with self._changed:
            self._failures.pop(key, None)

    def take(self) -> Key:
        """The next; waits for one."""
        with self._changed:
            while True:
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    self._add(heapq.heappop(self._later)[1])
                if self._ready:
                    key = next(iter(self._ready))
                    del self._ready[key]
                    self._at_work.add(key)
                    return key
                self._changed.wait(self._later[0][0] - now if self._later else None)

    def done(self, key: Key) -> None:
        with self._changed:
            self._at_work.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)

    def _add(self, key: Key) -> None:
        if key in self._at_work:
            self._again.add(key)
        else:
            self._ready[key] = None
            self._changed.notify()
