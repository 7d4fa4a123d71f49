"""A loopback port of this machine whose connections are forwarded to a port elsewhere."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.ssh.connection import READ_BYTES, Channel, Connection, Stream

LOOPBACK = "127.0.0.1"


def loopback_listener(port: int) -> socket.socket:
    """A socket that listens on loopback; BadInput where the port cannot be had."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except (OSError, OverflowError) as error:
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        raise BadInput(
            f"--port {port}: {'already in use' if in_use else error};"
            " choose another, or 0 for any free port"
        ) from None


def wait_until_closed(channel: Channel) -> None:
    """As long as the program at its other end runs; a thread waits, so that Ctrl-C works."""
    ended = threading.Event()

    def listen() -> None:
        try:
            while channel.receive():
                pass
        except (OSError, EOFError):
            pass
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    while not ended.wait(0.5):
        pass


class PortForward:
    """Listens on loopback; each connection to it is joined with one that `connect` opens."""

    def __init__(self, port: int = 0) -> None:
        self._listener = loopback_listener(port)
        self.port: int = self._listener.getsockname()[1]
        self._open: set[Stream] = set()
        self._lock = threading.Lock()

    def serve(self, connect: Callable[[], Stream]) -> None:
        threading.Thread(
            target=self._accept, args=(connect,), name="port-forward", daemon=True
        ).start()

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}/"

    def close(self) -> None:
        # Shut down first: closed alone, the listener stays open while a thread waits in accept().
        _end(self._listener)
        with self._lock:
            streams, self._open = self._open, set()
        for stream in streams:
            _end(stream)

    def _accept(self, connect: Callable[[], Stream]) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._join, args=(caller, connect), daemon=True).start()

    def _join(self, caller: socket.socket, connect: Callable[[], Stream]) -> None:
        try:
            remote = connect()
        except PlayrunnerError:
            caller.close()  # the client sees a closed connection, as it would without forwarding
            return
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open |= {caller, remote}
        back = threading.Thread(target=_pump, args=(remote, caller), daemon=True)
        back.start()
        _pump(caller, remote)
        back.join()
        with self._lock:
            self._open -= {caller, remote}
        _end(caller)
        _end(remote)


def forward_through(connection: Connection, address: str, port: int) -> PortForward:
    """A loopback port that leads through a host to an address which only that host reaches."""
    connection.forward(address, port).close()  # fails at once when the host cannot reach it
    forward = PortForward()
    forward.serve(lambda: connection.forward(address, port))
    return forward


def _pump(source: Stream, sink: Stream) -> None:
    """Copy until the source ends; the sink then sees the end, and may still answer."""
    try:
        while data := source.recv(READ_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except (OSError, EOFError):
        _end(source)
        _end(sink)


def _end(stream: Stream) -> None:
    with suppress(OSError, EOFError):  # already closed by the other end
        stream.shutdown(socket.SHUT_RDWR)
    with suppress(OSError, EOFError):  # the connection is gone that would tell the other end
        stream.close()
