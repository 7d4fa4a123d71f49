"""What a report holds back for a moment, to print it in the playbook's order."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from playrunner.output.warned import Warned
from playrunner.results import Result

HOLD_SECONDS = 0.3  # results wait this long for those that come before them in the playbook
# A warning of a step that has begun waits this long for a result of that step: those of earlier
# steps come first, and may not be here yet
EARLY_SECONDS = 5.0

_Held = tuple[tuple[Any, ...], Result | Warned]


class HeldBack:
    """Threads of the hosts add to it, one takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._order: dict[str, int] = {}
        self._added = 0
        self._held: list[_Held] = []
        self._early: list[_Held] = []
        self._held_since = self._early_since = 0.0

    def play_starts(self, hosts: Sequence[str]) -> None:
        self._order = {host: number for number, host in enumerate(hosts)}

    def order(self, result: Result) -> tuple[Any, ...]:
        return result.play, result.position, self._order.get(result.host, 0)

    def add(self, result: Result) -> None:
        with self._lock:
            self._hold(self.order(result), result)

    def add_warning(self, warned: Warned) -> None:
        """It comes before the results of its step, or with one of them."""
        with self._lock:
            if warned.result:
                self._hold(self.order(warned.result), warned)
                return
            if not self._early:
                self._early_since = time.monotonic()
            self._added += 1
            host = self._order.get(warned.host, 0)
            self._early.append(((warned.play, warned.position, -1, host, self._added), warned))

    def due(self) -> list[Result | Warned]:
        """What has been held long enough."""
        now = time.monotonic()
        with self._lock:
            if self._early and now - self._early_since > EARLY_SECONDS:
                return self._all()
            if not self._held or now - self._held_since <= HOLD_SECONDS:
                return []
            last, early = max(key for key, _ in self._held), self._early
            self._early = [pair for pair in early if pair[0] > last]
            return self._sorted([pair for pair in early if pair[0] < last])

    def all(self) -> list[Result | Warned]:
        with self._lock:
            return self._all()

    def _hold(self, order: tuple[Any, ...], each: Result | Warned) -> None:
        if not self._held:
            self._held_since = time.monotonic()
        self._added += 1
        self._held.append(((*order, self._added), each))

    def _all(self) -> list[Result | Warned]:
        early, self._early = self._early, []
        return self._sorted(early)

    def _sorted(self, early: list[_Held]) -> list[Result | Warned]:
        held, self._held = self._held, []
        return [each for _, each in sorted([*held, *early], key=lambda pair: pair[0])]
