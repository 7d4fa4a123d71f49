"""Pool: open connections by target, each opened once and shared by whoever needs it."""

from __future__ import annotations

import sys
import threading

from playrunner.ssh.connection import Connection, connect
from playrunner.ssh.host_key_check import notices
from playrunner.ssh.targets import Target


class Pool:
    """Open connections by target, each opened once however many ask for it at the same time."""

    def __init__(self, warns: bool = True) -> None:
        self._warns = warns  # about keys that were accepted although they were not known
        self._lock = threading.Lock()
        self._doors: dict[Target, threading.Lock] = {}
        self._open: dict[Target, Connection] = {}

    def get(self, target: Target) -> Connection:
        with self._lock:
            door = self._doors.setdefault(target, threading.Lock())
        with door:
            if target not in self._open:
                self._open[target] = connect(target)
            return self._open[target]

    def drop(self, target: Target) -> None:
        """Forget a connection that broke, so that the next `get` opens another."""
        with self._lock:
            door = self._doors.setdefault(target, threading.Lock())
        with door:
            broken = self._open.pop(target, None)
        if broken:
            broken.close()

    def close(self) -> None:
        for connection in list(self._open.values()):
            connection.close()
        self._open.clear()
        if self._warns:
            for line in notices():
                sys.stderr.write(f"{line}\n")
