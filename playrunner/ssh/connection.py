"""Connections: a local process or an SSH session through any number of jump hosts."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from playrunner.errors import HostUnreachable
from playrunner.ssh.session import opened, place, reason
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    import paramiko

READ_BYTES = 1 << 16
COMPLAINT_BYTES = 1 << 24  # of standard error; more than `raw` returns to anyone
LOOK_SECONDS = 2.0  # between two looks at standard error while a program says nothing
STILL_RUNNING = -1
START_SECONDS = 60.0  # for a server to say that it runs a command; a loaded one forks slowly


class Channel(Protocol):
    """One program at the other end: bytes in, bytes out."""

    # With `seconds`, TimeoutError is raised when the other end takes or gives nothing for so long.
    def send(self, data: bytes, seconds: float | None = None) -> None: ...
    def receive(self, seconds: float | None = None) -> bytes: ...  # empty at the end
    def complaints(
        self,
    ) -> str: ...  # what it wrote to standard error so far, the last of it where that is long
    def status(
        self, seconds: float | None = None
    ) -> int: ...  # its exit status once it has ended; -1 when it has not
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


def read_all(channel: Channel, most: int) -> tuple[bytes, int]:
    """What a program writes until it ends, no more than so many bytes, and how many more there
    were."""
    kept, left_out = bytearray(), 0
    while data := channel.receive():
        taken = data[: most - len(kept)]
        kept += taken
        left_out += len(data) - len(taken)
    return bytes(kept), left_out


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
            raise HostUnreachable(
                f"{self.target.name}: {address}:{port}: {reason(error)}"
            ) from None
        made.settimeout(None)
        return made

    def close(self) -> None:
        pass


class LocalChannel:
    """A child process."""

    def __init__(self, command: str) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  a file never fills up and stops its writer, as a pipe would
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        os.set_blocking(self._process.stdin.fileno(), False)
        self._takes, self._gives = select.poll(), select.poll()
        self._takes.register(self._process.stdin, select.POLLOUT)
        self._gives.register(self._process.stdout, select.POLLIN)

    def send(self, data: bytes, seconds: float | None = None) -> None:
        assert self._process.stdin
        view = memoryview(data)
        while view:
            written = self._process.stdin.write(view)
            if written is None:  # the pipe is full
                _await(self._takes, seconds)
            else:
                view = view[written:]

    def receive(self, seconds: float | None = None) -> bytes:
        assert self._process.stdout
        _await(self._gives, seconds)
        return self._process.stdout.read(READ_BYTES) or b""

    def complaints(self) -> str:
        length = os.fstat(self._complaints.fileno()).st_size
        # Read at a position of its own: the child writes at the one it shares with us.
        return os.pread(
            self._complaints.fileno(), COMPLAINT_BYTES, max(0, length - COMPLAINT_BYTES)
        ).decode(errors="replace")

    def status(self, seconds: float | None = None) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return STILL_RUNNING

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        for stream in (self._process.stdin, self._process.stdout):
            with _quietly():
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own
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
            # A server that never says whether it runs the command would be waited for without end.
            giving_up = threading.Timer(
                max(self.target.connect_seconds, START_SECONDS), session.close
            )
            giving_up.daemon = True
            giving_up.start()
            try:
                session.exec_command(command)
            finally:
                giving_up.cancel()
        except paramiko.ChannelException:
            # The server allows so many sessions on one connection (MaxSessions); another connection
            # has room again.
            return Ssh(self.target).start(command)
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(f"{place(self.target)}: the connection broke: {error}") from None
        return SshChannel(session, self)

    def forward(self, address: str, port: int) -> Stream:
        import paramiko

        try:
            made: paramiko.Channel = self._fabric.transport.open_channel(
                "direct-tcpip",
                (address, port),
                ("127.0.0.1", 0),
                timeout=self.target.connect_seconds,
            )
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise HostUnreachable(
                f"{place(self.target)}: {address}:{port} cannot be reached from there: {error}"
            ) from None
        return made

    def close(self) -> None:
        with _quietly():
            self._fabric.close()


class SshChannel:
    """A program behind an SSH session; it keeps its connection alive."""

    def __init__(self, session: paramiko.Channel, connection: Ssh) -> None:
        self._session, self._connection = session, connection
        self._heard = bytearray()

    def send(self, data: bytes, seconds: float | None = None) -> None:
        self._session.settimeout(seconds)
        self._session.sendall(data)

    def receive(self, seconds: float | None = None) -> bytes:
        if seconds is None:
            self._session.settimeout(None)
            return self._session.recv(READ_BYTES)
        deadline = time.monotonic() + seconds
        while True:
            self._session.settimeout(min(LOOK_SECONDS, seconds))
            try:
                return self._session.recv(READ_BYTES)
            except TimeoutError:
                # Both streams share a window: one that is not read stops the other
                self._hear_complaints()
                if time.monotonic() > deadline:
                    raise

    def complaints(self) -> str:
        self._hear_complaints()
        return self._heard.decode(errors="replace")

    def status(self, seconds: float | None = None) -> int:
        if not self._session.status_event.wait(seconds):
            return STILL_RUNNING
        return self._session.recv_exit_status()

    def close(self) -> None:
        with _quietly():
            self._session.close()

    def _hear_complaints(self) -> None:
        while self._session.recv_stderr_ready():
            self._heard += self._session.recv_stderr(READ_BYTES)
            del self._heard[:-COMPLAINT_BYTES]


def _await(poll: select.poll, seconds: float | None) -> None:
    if not poll.poll(None if seconds is None else seconds * 1000):
        raise TimeoutError


@contextmanager
def _quietly() -> Iterator[None]:
    """Closing what is already broken is no news."""
    try:
        yield
    except (OSError, EOFError, ValueError):
        pass
