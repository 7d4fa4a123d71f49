"""Open connections by target, each opened once and shared."""

from __future__ import annotations

import sys
import threading

from playrunner.ssh.connection import Connection, connect
from playrunner.ssh.keys.host_key_check import notices
from playrunner.ssh.targets import Target


class Pool:
    """Opens each connection once, however many threads ask for it at the same time."""

    def __init__(self, warns: bool = True) -> None:
        self._warns = warns  # about unknown host keys that were accepted
        self._lock = threading.Lock()
        self._locks: dict[Target, threading.Lock] = {}
        self._open: dict[Target, Connection] = {}

    def get(self, target: Target) -> Connection:
        with self._lock:
            lock = self._locks.setdefault(target, threading.Lock())
        with lock:
            if target not in self._open:
                self._open[target] = connect(target)
            return self._open[target]

    def drop(self, target: Target) -> None:
        """Close a connection that broke, so that the next `get` opens a new one."""
        with self._lock:
            lock = self._locks.setdefault(target, threading.Lock())
        with lock:
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
