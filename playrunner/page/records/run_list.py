"""The list of runs; one that has ended is read once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.record.ledger import state_directory
from playrunner.record.past_runs import RunRecord, Unreadable, run_record

STATES = ("failed", "running", "changed", "ok", "cut short")


@frozen
class RunRow:
    """A run as the list shows it."""

    record: RunRecord
    state: str
    counts: dict[str, int]
    hosts: int

    @property
    def run_id(self) -> str:
        return self.record.run_id

    @property
    def seconds(self) -> float | None:
        seconds = self.record.recap.get("seconds")
        return float(seconds) if seconds is not None else None


class RunList:
    """Every recorded run, newest first."""

    def __init__(self) -> None:
        self._ended: dict[str, RunRow] = {}

    def rows(self) -> list[RunRow]:
        folders = _folders()
        known = self._ended
        self._ended = {
            folder.name: known[folder.name] for folder in folders if folder.name in known
        }
        return [self._row(folder) for folder in folders]

    def find(self, run_id: str) -> RunRow:
        """The run of that id or, as with runs.show, whose id begins so; empty is the newest."""
        for folder in _folders():
            if folder.name.startswith(run_id):
                return self._row(folder)
        raise BadInput(f'there is no run "{run_id}"' if run_id else "no run is recorded yet")

    def _row(self, folder: Path) -> RunRow:
        row = self._ended.get(folder.name)
        if row is None:
            row = _read(folder)
            if row.record.recap:
                self._ended[folder.name] = row
        return row


def chosen(rows: list[RunRow], text: str, state: str) -> list[RunRow]:
    """Those whose command or id has all the words, and that are in this state."""
    words = text.lower().split()
    return [
        row
        for row in rows
        if (not state or row.state == state or (state == "check" and row.record.check))
        and all(word in f"{row.run_id} {row.record.command}".lower() for word in words)
    ]


def is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's
    return True


def _folders() -> list[Path]:
    root = state_directory() / "runs"
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [root / name for name in sorted(names, reverse=True)]


def _read(folder: Path) -> RunRow:
    record = run_record(folder, Unreadable())
    hosts: dict[str, Any] = dict(record.recap.get("recap", {}))
    counts: dict[str, int] = {}
    for numbers in hosts.values():
        for name, number in numbers.items():
            counts[name] = counts.get(name, 0) + number
    return RunRow(record, _state(record, counts), counts, len(hosts))


def _state(record: RunRecord, counts: dict[str, int]) -> str:
    code = record.recap.get("exit_code")
    if code is None:
        return "running" if is_alive(record.pid) else "cut short"
    if code:
        return "failed"
    return "changed" if counts.get("changed") else "ok"
