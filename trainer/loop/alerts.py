"""What the guard saw: a line in the log, a record in the metrics, and a file that train.status
reads."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trainer.frozen import frozen

FILE = "guard.jsonl"  # in the node's part of the run's folder
AGAIN_SECONDS = 60.0  # before the same kind is reported again


@frozen
class Alert:
    kind: str  # as loss-spike, data-stall, slow-rank
    step: int
    rank: int
    text: str
    time: float


class Alerts:
    """Safe to use from the guard's own thread."""

    def __init__(self, rank: int, record: Callable[[dict[str, Any]], None] | None) -> None:
        self.rank, self._record = rank, record  # only rank 0 writes metrics
        node = os.environ.get("TRAINER_NODE")
        self._file = Path(node) / FILE if node else None
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._unsent: list[Alert] = []
        self.count = 0

    def report(self, kind: str, step: int, text: str) -> bool:
        """Whether it is new: the same kind is reported once a minute."""
        with self._lock:
            now = time.monotonic()
            if now - self._last.get(kind, -AGAIN_SECONDS) < AGAIN_SECONDS:
                return False
            self._last[kind] = now
            alert = Alert(kind, step, self.rank, text, time.time())
            self._unsent.append(alert)
            print(f"guard: {text}", file=sys.stderr, flush=True)
            self._write(alert)
            self._take(alert)
            return True

    def resolved(self, kind: str, step: int, text: str) -> None:
        with self._lock:
            self._last.pop(kind, None)
            print(f"guard: {text}", file=sys.stderr, flush=True)
            self._write(Alert(f"{kind}-over", step, self.rank, text, time.time()))

    def unsent(self) -> list[Alert]:
        """Those of this rank since the last call, for rank 0's metrics."""
        with self._lock:
            unsent, self._unsent = self._unsent, []
            return [] if self._record else unsent

    def take(self, alerts: list[Alert]) -> None:
        """Rank 0: alerts of other ranks."""
        with self._lock:
            for alert in alerts:
                self._take(alert)

    def _take(self, alert: Alert) -> None:
        self.count += 1
        if self._record:
            fields = asdict(alert)
            self._record({"step": alert.step, "guard": fields.pop("kind"), **fields})

    def _write(self, alert: Alert) -> None:
        if self._file:
            try:
                with self._file.open("a") as file:
                    file.write(json.dumps(asdict(alert)) + "\n")
            except OSError:
                pass  # training does not depend on being watched
