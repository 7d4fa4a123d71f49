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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from playrunner.errors import HostUnreachable
from playrunner.ssh.session import broken, described, open_session, reason
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    import paramiko

READ_BYTES = 1 << 16
SEND_BYTES = 1 << 18
STDERR_BYTES = 1 << 24  # kept of standard error; more than `raw` returns
LOOK_SECONDS = 2.0  # between two reads of standard error while a program is silent
STILL_RUNNING = -1
START_SECONDS = 60.0  # for a server to confirm a command; a loaded one forks slowly


class Channel(Protocol):
    """One program at the other end: bytes in, bytes out."""

    is_ready: bool  # it was started ahead, and has what it is sent first

    # With `seconds`, TimeoutError is raised when nothing can be sent or received for that long.
    def send(self, data: bytes, seconds: float | None = None) -> None: ...
    def receive(self, seconds: float | None = None) -> bytes: ...  # empty at the end
    def stderr_text(self) -> str: ...  # the last STDERR_BYTES of standard error so far

    # Its exit status once it has ended; -1 when it has not
    def status(self, seconds: float | None = None) -> int: ...
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

    # `first` is what the program will be sent first: a connection that is kept may have started
    # and sent it already, and then says so
    def start(self, command: str, first: bytes = b"") -> Channel: ...
    def forward(self, address: str, port: int) -> Stream: ...  # a port as the host reaches it
    def close(self) -> None: ...


def connect(
    target: Target, jump: Callable[[Target], Ssh] | None = None, ssh: type[Ssh] | None = None
) -> Connection:
    """An open connection, or HostUnreachable with what to do; `jump` gives that of a jump host."""
    if target.kind == "local":
        return Local(target)
    if target.container:
        from playrunner.ssh.containers.connection import open_container

        return open_container(target)
    return (ssh or Ssh)(target, jump)


class Local:
    """This machine."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def start(self, command: str, first: bytes = b"") -> Channel:
        return self.start_process(command)

    def start_process(self, command: str, environment: Mapping[str, str] | None = None) -> Channel:
        try:
            return LocalChannel(command, environment)
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

    is_ready = False

    def __init__(self, command: str, environment: Mapping[str, str] | None = None) -> None:
        # A file never fills up and stops its writer, as a pipe would
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            env={**os.environ, **environment} if environment else None,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        os.set_blocking(self._process.stdin.fileno(), False)
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(self._process.stdin, select.POLLOUT)
        self._readable.register(self._process.stdout, select.POLLIN)

    def send(self, data: bytes, seconds: float | None = None) -> None:
        assert self._process.stdin
        view = memoryview(data)
        while view:
            written = self._process.stdin.write(view)
            if written is None:  # the pipe is full
                wait_for(self._writable, seconds)
            else:
                view = view[written:]

    def receive(self, seconds: float | None = None) -> bytes:
        assert self._process.stdout
        wait_for(self._readable, seconds)
        return self._process.stdout.read(READ_BYTES) or b""

    def stderr_text(self) -> str:
        length = os.fstat(self._stderr.fileno()).st_size
        # Read at a position of its own: the child writes at the one it shares with us.
        return os.pread(self._stderr.fileno(), STDERR_BYTES, max(0, length - STDERR_BYTES)).decode(
            errors="replace"
        )

    def status(self, seconds: float | None = None) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return STILL_RUNNING

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        for stream in (self._process.stdin, self._process.stdout):
            with _ignoring_errors():
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own
            self._process.wait()


class Ssh:
    """An SSH connection by Fabric, with the host's key verified at every hop."""

    def __init__(self, target: Target, jump: Callable[[Target], Ssh] | None = None) -> None:
        self.target, self._jump = target, jump
        self._fabric = open_session(target, (lambda via: jump(via)._fabric) if jump else None)

    @property
    def is_open(self) -> bool:
        return bool(self._fabric.is_connected)

    def start(self, command: str, first: bytes = b"") -> Channel:
        import paramiko

        try:
            session = self._session()
            session.event = _BoundedEvent(max(self.target.connect_seconds, START_SECONDS))
            session.exec_command(command)
        except paramiko.ChannelException:
            # The server limits the sessions of one connection (MaxSessions); another has room
            return Ssh(self.target, self._jump).start(command)
        except broken() as error:
            raise HostUnreachable(
                f"{described(self.target)}: the connection broke: {reason(error)}"
            ) from None
        return SshChannel(session, self)

    def _session(self) -> paramiko.Channel:
        transport: paramiko.Transport = self._fabric.transport
        return transport.open_session(timeout=self.target.connect_seconds)

    def forward(self, address: str, port: int) -> Stream:
        try:
            made: paramiko.Channel = self._fabric.transport.open_channel(
                "direct-tcpip",
                (address, port),
                ("127.0.0.1", 0),
                timeout=self.target.connect_seconds,
            )
        except broken() as error:
            raise HostUnreachable(
                f"{described(self.target)}: {address}:{port} cannot be reached from there:"
                f" {reason(error)}"
            ) from None
        return made

    def close(self) -> None:
        with _ignoring_errors():
            self._fabric.close()


class _BoundedEvent(threading.Event):
    """What paramiko waits for, without a limit of its own, when a server is to confirm a request; a
    timer for each would be one more thread for each host."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def wait(self, timeout: float | None = None) -> bool:
        if not super().wait(self._seconds if timeout is None else timeout):
            raise TimeoutError("timed out")
        return True


class SshChannel:
    """A program run over SSH; it holds a reference to its connection."""

    is_ready = False

    def __init__(self, session: paramiko.Channel, connection: Ssh) -> None:
        self.session, self._connection = session, connection
        self._stderr = bytearray()

    def send(self, data: bytes, seconds: float | None = None) -> None:
        self.session.settimeout(seconds)
        # Paramiko copies all that is left after each packet of 32 KiB: with pieces, little is
        for start in range(0, len(data), SEND_BYTES):
            self.session.sendall(data[start : start + SEND_BYTES])

    def receive(self, seconds: float | None = None) -> bytes:
        if seconds is None:
            self.session.settimeout(None)
            return self.session.recv(READ_BYTES)
        deadline = time.monotonic() + seconds
        while True:
            self.session.settimeout(min(LOOK_SECONDS, seconds))
            try:
                return self.session.recv(READ_BYTES)
            except TimeoutError:
                # Both streams share a window: one that is not read stops the other
                self._read_stderr()
                if time.monotonic() > deadline:
                    raise

    def stderr_text(self) -> str:
        self._read_stderr()
        return self._stderr.decode(errors="replace")

    def status(self, seconds: float | None = None) -> int:
        if not self.session.status_event.wait(seconds):
            return STILL_RUNNING
        return self.session.recv_exit_status()

    def close(self) -> None:
        with _ignoring_errors():
            self.session.close()

    def _read_stderr(self) -> None:
        while self.session.recv_stderr_ready():
            self._stderr += self.session.recv_stderr(READ_BYTES)
            del self._stderr[:-STDERR_BYTES]


def wait_for(poll: select.poll, seconds: float | None) -> None:
    if not poll.poll(None if seconds is None else seconds * 1000):
        raise TimeoutError


@contextmanager
def _ignoring_errors() -> Iterator[None]:
    """Errors while closing what is already broken are not reported."""
    try:
        yield
    except (OSError, EOFError, ValueError):
        pass
