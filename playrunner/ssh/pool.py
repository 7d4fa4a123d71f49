"""Open connections by target, each opened once and shared."""

from __future__ import annotations

import sys
import threading

from playrunner.ssh import session
from playrunner.ssh.connection import Connection, Ssh, connect
from playrunner.ssh.keys.host_key_check import notices
from playrunner.ssh.targets import Target


class Pool:
    """Opens each connection once, however many threads ask for it at the same time."""

    def __init__(self, warns: bool = True, keep: float = 0.0, ssh: type[Ssh] = Ssh) -> None:
        self._warns = warns  # about unknown host keys that were accepted
        self._keep = keep  # seconds for which connections stay open after the command
        self._ssh = ssh
        if keep:
            from playrunner.ssh.kept.protocol import socket_path

            socket_path()  # a folder that cannot be used is reported before a host is contacted
        self._lock = threading.Lock()
        self._locks: dict[Target, threading.Lock] = {}
        self._open: dict[Target, Connection] = {}

    def prepare(self) -> None:
        """Import what connections need, before threads do; kept ones need little."""
        if not self._keep:
            session.prepare()

    def get(self, target: Target) -> Connection:
        with self._lock:
            lock = self._locks.setdefault(target, threading.Lock())
        with lock:
            if target not in self._open:
                self._open[target] = self._connect(target)
            return self._open[target]

    def _connect(self, target: Target) -> Connection:
        if self._keep:
            from playrunner.ssh.kept.client import KeptConnection, can_be_kept

            if can_be_kept(target):
                return KeptConnection(target, self._keep)
            with self._lock:
                session.prepare()
        return connect(target, self._jump, self._ssh)

    def _jump(self, target: Target) -> Ssh:
        """The connection of a jump host: one for all hosts behind it, again once it broke."""
        connection = self.get(target)
        if not isinstance(connection, Ssh):  # kept for the host itself, in another process
            return self._ssh(target, self._jump)
        if not connection.is_open:
            self.drop(target, connection)
            connection = self.get(target)
            assert isinstance(connection, Ssh)
        return connection

    def drop(self, target: Target, only: Connection | None = None) -> None:
        """Close a connection that broke, so that the next `get` opens a new one; with `only`, not
        if another thread has done so."""
        with self._lock:
            lock = self._locks.setdefault(target, threading.Lock())
        with lock:
            if only is not None and self._open.get(target) is not only:
                return
            broken = self._open.pop(target, None)
        if broken:
            getattr(broken, "discard", broken.close)()

    def close(self) -> None:
        for connection in list(self._open.values()):
            connection.close()
        self._open.clear()
        if self._warns:
            for line in notices():
                sys.stderr.write(f"{line}\n")
