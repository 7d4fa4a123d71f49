"""A run's metrics.jsonl, read on from where it was read to; its figures as columns of numbers."""

from __future__ import annotations

import json
import math
import os
import threading
from array import array
from pathlib import Path
from typing import Any, TypeGuard

from playrunner.page.records.rank_heat import RankHeat

COLUMNS = (
    "step",
    "time",
    "loss",
    "eval_loss",
    "lr",
    "tokens_per_second",
    "memory_mib",
    "grad_norm",
    "mfu",
    "step_seconds",
    "data_wait_seconds",
)
MOST_RECORDS = 2_000_000
CHUNK = 1 << 22


class MetricsFile:
    """Grows with the file; begins again when that was written anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.columns: dict[str, array[float]] = {name: array("d") for name in COLUMNS}
        self.filled: set[str] = set()  # columns that have a number
        self.phases: list[tuple[int, str]] = []  # the first step of each
        self.ranks = RankHeat()
        self.last: dict[str, Any] = {}
        self.generation = getattr(self, "generation", 0) + 1
        self._offset, self._rest, self._inode = 0, b"", 0

    def __len__(self) -> int:
        return len(self.columns["step"])

    def update(self) -> MetricsFile:
        with self.lock:
            try:
                with self.path.open("rb") as file:
                    status = os.fstat(file.fileno())
                    if status.st_size < self._offset or status.st_ino != self._inode:
                        self._forget()
                        self._inode = status.st_ino
                    file.seek(self._offset)
                    while data := file.read(CHUNK):
                        self._take(data)
            except OSError:
                if self._offset:
                    self._forget()
        return self

    def _take(self, data: bytes) -> None:
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        records = [
            record
            for record in _parsed(lines)
            if isinstance(record, dict) and _is_number(record.get("step"))
        ][: MOST_RECORDS - len(self)]
        for name, column in self.columns.items():
            before = len(column)
            column.extend([_figure(record.get(name)) for record in records])
            if name not in self.filled and any(value == value for value in column[before:]):
                self.filled.add(name)
        for record in reversed(records):
            if _is_number(record.get("loss")):
                self.last = {name: value for name, value in record.items() if _is_number(value)}
                break
        for record in records:
            if "ranks" in record:
                self.ranks.add(int(record["step"]), record["ranks"])
            phase = _phase(record.get("phase"))
            if phase and (not self.phases or self.phases[-1][1] != phase):
                self.phases.append((int(record["step"]), phase))


def _phase(value: Any) -> str:
    """Scripts log numbers, so that 2.0 is phase 2."""
    if _is_number(value):
        return f"{value:g}"
    return value[:80] if isinstance(value, str) else ""


def _parsed(lines: list[bytes]) -> list[Any]:
    """All lines at once, which is quick; one by one where one of them cannot be read."""
    try:
        found = json.loads(b"[%s]" % b",".join(line for line in lines if line))
        if len(found) == sum(1 for line in lines if line):
            return list(found)
    except (ValueError, RecursionError):
        pass
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return records


def _figure(value: Any) -> float:
    """Not a number, where there is none that can be drawn."""
    if value.__class__ is float and value - value == 0.0:
        return float(value)
    return float(value) if _is_number(value) else math.nan


def _is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
