"""Connections that the holder keeps, as a command uses them; the holder is started when needed."""

from __future__ import annotations

import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.ssh.connection import (
    STDERR_BYTES,
    STILL_RUNNING,
    Channel,
    Ssh,
    Stream,
    wait_for,
)
from playrunner.ssh.kept.protocol import (
    FAILED,
    OUTPUT,
    READY,
    STARTED,
    STATUS,
    STDERR,
    is_same_user,
    read_frame,
    socket_path,
    target_data,
)
from playrunner.ssh.keys.host_key_check import RECORDS
from playrunner.ssh.targets import Target
from playrunner.text.file_lock import file_lock

# For the holder to log in and start a program, with all its tries; without an answer it hangs
ANSWER_SECONDS = 180.0
SEND_BYTES = 1 << 15  # a socket that can be written to takes some of so many


def can_be_kept(target: Target) -> bool:
    """Whether its host key must be known, as other keys are accepted with a warning to the user;
    and a ProxyCommand runs in the folder and environment of its own command."""
    hop: Target | None = target
    while hop:
        if hop.checking in RECORDS or hop.proxy_command:
            return False
        hop = hop.via
    return target.kind == "ssh"


class KeptConnection:
    """A host, over a connection that the holder opens or already has."""

    def __init__(self, target: Target, keep: float) -> None:
        self.target, self._keep = target, keep

    def start(self, command: str, first: bytes = b"") -> Channel:
        request = {
            "op": "start",
            "target": target_data(self.target),
            "keep": self._keep,
            "agent": os.environ.get("SSH_AUTH_SOCK", ""),
            "first": {"size": len(first), "sha256": hashlib.sha256(first).hexdigest()},
        }
        peer = connected(start=True)
        assert peer
        try:
            _ask(peer, {**request, "command": command})
            letter, data = read_frame(peer)
        except (OSError, EOFError) as error:
            peer.close()
            raise HostUnreachable(
                f"{self.target.name}: the process that keeps connections open did not answer"
                f" ({error}); set connections.keep to 0, or run connections.close"
            ) from None
        if letter == FAILED:
            peer.close()
            raise HostUnreachable(data.decode(errors="replace"))
        assert letter in (STARTED, READY)
        return KeptChannel(peer, letter == READY)

    def forward(self, address: str, port: int) -> Stream:
        return Ssh(self.target).forward(address, port)

    def close(self) -> None:
        """Nothing: the connection is kept for the next command."""

    def discard(self) -> None:
        """Have the holder close it, since it broke."""
        ask({"op": "drop", "target": target_data(self.target)})


class KeptChannel:
    """A program that runs over a kept connection."""

    def __init__(self, peer: socket.socket, is_ready: bool) -> None:
        peer.settimeout(None)  # for good: one thread sends while another reads
        self._peer, self.is_ready = peer, is_ready
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(peer, select.POLLIN)
        self._writable.register(peer, select.POLLOUT)
        self._reading = threading.Lock()
        self._output: deque[bytes] = deque()
        self._stderr = bytearray()
        self._status: int | None = None

    def send(self, data: bytes, seconds: float | None = None) -> None:
        view = memoryview(data)
        while view:
            wait_for(self._writable, seconds)
            view = view[self._peer.send(view[:SEND_BYTES], socket.MSG_DONTWAIT) :]

    def receive(self, seconds: float | None = None) -> bytes:
        with self._reading:
            while not self._output and self._status is None:
                self._read(seconds)
            return self._output.popleft() if self._output else b""

    def stderr_text(self) -> str:
        # Another thread that reads keeps standard error, too
        if self._reading.acquire(blocking=False):
            try:
                while self._status is None:
                    self._read(0)
            except (OSError, EOFError, ValueError):
                pass  # what came before its end is returned
            finally:
                self._reading.release()
        return self._stderr.decode(errors="replace")

    def status(self, seconds: float | None = None) -> int:
        ends = None if seconds is None else time.monotonic() + seconds
        try:
            with self._reading:
                while self._status is None:
                    self._read(None if ends is None else max(0.01, ends - time.monotonic()))
        except (OSError, EOFError):
            return STILL_RUNNING
        return self._status

    def close(self) -> None:
        try:
            self._peer.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads
        except OSError:
            pass  # the holder has closed it
        self._peer.close()

    def _read(self, seconds: float | None) -> None:
        """Wait until a frame begins, then read it whole: a time limit never splits one."""
        wait_for(self._readable, seconds)
        letter, data = read_frame(self._peer)
        if letter == OUTPUT:
            self._output.append(data)
        elif letter == STDERR:
            self._stderr += data
            del self._stderr[:-STDERR_BYTES]
        elif letter == STATUS:
            self._status = int(data)
        else:
            raise EOFError("the connection was lost")


def ask(request: dict[str, Any]) -> Any:
    """The holder's answer; None when there is no holder."""
    peer = connected(start=False)
    if peer is None:
        return None
    with peer:
        try:
            _ask(peer, request)
            letter, data = read_frame(peer)
        except (OSError, EOFError):
            return None
        return json.loads(data) if letter == OUTPUT else None


def connected(start: bool) -> socket.socket | None:
    """A connection to the holder, which is started if there is none."""
    path = str(socket_path())
    peer = _connected(path)
    if peer or not start:
        return peer
    with file_lock(Path(f"{path}.lock")):
        peer = _connected(path)
        if peer is None:
            _start_holder(path)
            peer = _connected(path)
    if peer is None:
        raise HostUnreachable(
            f"the process that keeps connections open did not start; see {path}.log, or set"
            " connections.keep to 0"
        )
    return peer


def _connected(path: str) -> socket.socket | None:
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        peer.close()
        return None
    if not is_same_user(peer):
        peer.close()
        raise HostUnreachable(f"{path} is served by another user; connections are not kept")
    return peer


def _start_holder(path: str) -> None:
    log = os.open(f"{path}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "playrunner.ssh.kept.holder", path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(log)
    assert process.stdout
    process.stdout.read()  # it closes its output once it listens, or with its end
    process.stdout.close()
    process.returncode = 0  # it outlives this command, which must not wait for it


def _ask(peer: socket.socket, request: dict[str, Any]) -> None:
    peer.settimeout(ANSWER_SECONDS)
    peer.sendall(json.dumps(request).encode() + b"\n")
