"""What each host is doing at the moment, for the live line."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from playrunner.results import Result


class Running(NamedTuple):
    """A step that runs, and since when."""

    since: float
    host: str
    step: str


class Activity:
    """The steps that run. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By host, the steps sent and not finished; the first is being done
        self._sent: dict[str, list[str]] = {}
        self._since: dict[str, float] = {}  # when each host began its first step
        # Steps that wait in the background: since when, and for what
        self._background: dict[tuple[str, str], tuple[float, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._sent or self._background)

    def starts(self, host: str, step: str) -> None:
        with self._lock:
            self._sent.setdefault(host, []).append(step)
            self._since.setdefault(host, time.monotonic())

    def progress(self, host: str, step: str, doing: str) -> None:
        with self._lock:
            since, _ = self._background.get((host, step), (time.monotonic(), ""))
            self._background[host, step] = since, doing

    def progress_ends(self, host: str, step: str) -> None:
        with self._lock:
            self._background.pop((host, step), None)

    def finished(self, result: Result) -> None:
        with self._lock:
            remaining = list(self._sent.get(result.host, ()))
            if result.status in ("failed", "unreachable") and not result.ignored:
                remaining = []  # the steps sent ahead are not done
            elif result.step not in remaining:
                return  # it was in the background, or never began
            else:
                remaining = remaining[remaining.index(result.step) + 1 :]
            self._since.pop(result.host, None)
            self._sent.pop(result.host, None)
            if remaining:
                self._sent[result.host], self._since[result.host] = remaining, time.monotonic()

    def in_background(self) -> list[Running]:
        """The steps that wait for something elsewhere, the longest first."""
        with self._lock:
            return sorted(
                Running(since, host, f"{step}: {doing}" if doing else step)
                for (host, step), (since, doing) in self._background.items()
            )

    def running(self) -> list[Running]:
        """The longest first."""
        with self._lock:
            steps = [
                Running(self._since[host], host, steps[0]) for host, steps in self._sent.items()
            ]
        return sorted([*steps, *self.in_background()])
