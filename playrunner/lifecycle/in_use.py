"""How long a teardown waits for what uses a resource, before it leaves both to the sweep."""

from __future__ import annotations

import threading
import time

# The sweep finds users that no role knows of, and waits for them as long as each kind needs
IN_USE_SECONDS = 45.0
# Where no other deletion goes on, nothing of this run can end the use any more, but for what a
# cloud shows late of deletions that have ended
QUIET_SECONDS = 10.0


class UnderWay:
    """The deletions of one teardown that are under way, and whether any of them goes on: those that
    are refused because of users only wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.going_on: set[PendingDeletion] = set()
        self.last_change = time.monotonic()

    def deletion(self) -> PendingDeletion:
        return PendingDeletion(self)


class PendingDeletion:
    """One of them, which says what became of each of its requests."""

    def __init__(self, under_way: UnderWay) -> None:
        self._under_way, self._started = under_way, time.monotonic()
        self.accepted()

    def accepted(self) -> None:
        with self._under_way.lock:
            self._under_way.going_on.add(self)

    def refused(self) -> bool:
        """Something uses it; whether to wait no longer."""
        self.ended()
        with self._under_way.lock:
            now = time.monotonic()
            is_quiet = not self._under_way.going_on
            return now - self._started >= IN_USE_SECONDS or (
                is_quiet and now - self._under_way.last_change >= QUIET_SECONDS
            )

    def ended(self) -> None:
        with self._under_way.lock:
            if self in self._under_way.going_on:
                self._under_way.going_on.discard(self)
                self._under_way.last_change = time.monotonic()
