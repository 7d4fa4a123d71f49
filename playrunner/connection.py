"""Connections: a local process or an SSH session through any number of jump hosts."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from playrunner.errors import HostUnreachable
from playrunner.ssh_session import opened, place, reason
from playrunner.targets import Target

if TYPE_CHECKING:
    import paramiko

READ_BYTES = 1 << 16


class Channel(Protocol):
    """One program at the other end: bytes in, bytes out."""

    def send(self, data: bytes) -> None: ...
    def receive(self) -> bytes: ...  # empty at the end
    def complaints(self) -> str: ...  # what it wrote to standard error so far
    def status(self) -> int: ...  # its exit status, once it has ended
    def close(self) -> None: ...


class Stream(Protocol):
    """A connection to a port: bytes both ways."""

    def sendall(self, data: bytes, /) -> object: ...
    def recv(self, size: int, /) -> bytes: ...  # empty at the end
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class Connection(Protocol):
    """A way to start programs on one host."""

    target: Target

    def start(self, command: str) -> Channel: ...
    def forward(self, address: str, port: int) -> Stream: ...  # a port as the host reaches it
    def close(self) -> None: ...


def connect(target: Target) -> Connection:
    """An open connection, or HostUnreachable with what to do about it."""
    return Local(target) if target.kind == "local" else Ssh(target)


class Local:
    """This machine."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def start(self, command: str) -> Channel:
        try:
            return LocalChannel(command)
        except OSError as error:  # too many files or processes
            raise HostUnreachable(f"{self.target.name}: {reason(error)}") from None

    def forward(self, address: str, port: int) -> Stream:
        try:
            made = socket.create_connection((address, port), timeout=self.target.connect_seconds)
        except OSError as error:
            raise HostUnreachable(f"{self.target.name}: {address}:{port}: {reason(error)}") from None
        made.settimeout(None)
        return made

    def close(self) -> None:
        pass


class LocalChannel:
    """A child process."""

    def __init__(self, command: str) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  a file never fills up and stops its writer, as a pipe would
        self._process = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._complaints, bufsize=0, start_new_session=True)

    def send(self, data: bytes) -> None:
        assert self._process.stdin
        view = memoryview(data)
        while view:
            view = view[self._process.stdin.write(view):]

    def receive(self) -> bytes:
        assert self._process.stdout
        return self._process.stdout.read(READ_BYTES) or b""

    def complaints(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace")

    def status(self) -> int:
        return self._process.wait()

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        for stream in (self._process.stdin, self._process.stdout):
            with _quietly():
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Ssh:
    """An SSH connection by Fabric, with the host's key verified at every hop."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._fabric = opened(target)

    def start(self, command: str) -> Channel:
        import paramiko

        try:
            session = self._fabric.transport.open_session(timeout=self.target.connect_seconds)
            session.exec_command(command)
        except paramiko.ChannelException:
            # The server allows so many sessions on one connection (MaxSessions); another connection has room again.
            return Ssh(self.target).start(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(f"{place(self.target)}: the connection broke: {error}") from None
        return SshChannel(session, self)

    def forward(self, address: str, port: int) -> Stream:
        import paramiko

        try:
            made: paramiko.Channel = self._fabric.transport.open_channel(
                "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=self.target.connect_seconds)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(f"{place(self.target)}: {address}:{port} cannot be reached from there: {error}") from None
        return made

    def close(self) -> None:
        with _quietly():
            self._fabric.close()


class SshChannel:
    """A program behind an SSH session; it keeps its connection alive."""

    def __init__(self, session: paramiko.Channel, connection: Ssh) -> None:
        self._session, self._connection = session, connection
        self._heard = bytearray()

    def send(self, data: bytes) -> None:
        self._session.sendall(data)

    def receive(self) -> bytes:
        return self._session.recv(READ_BYTES)

    def complaints(self) -> str:
        while self._session.recv_stderr_ready():
            self._heard += self._session.recv_stderr(READ_BYTES)
        return self._heard.decode(errors="replace")

    def status(self) -> int:
        return self._session.recv_exit_status()

    def close(self) -> None:
        with _quietly():
            self._session.close()


@contextmanager
def _quietly() -> Iterator[None]:
    """Closing what is already broken is no news."""
    try:
        yield
    except (OSError, EOFError, ValueError):
        pass

