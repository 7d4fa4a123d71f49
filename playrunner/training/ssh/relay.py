"""A port of this machine that leads to a port of a node, through the connection that is open
already."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable

from playrunner.errors import BadInput, PlayrunnerError
from playrunner.ssh.connection import READ_BYTES, Stream

LOOPBACK = "127.0.0.1"


class Relay:
    """Holds a port on loopback; whoever calls it is connected to what `reach` opens."""

    def __init__(self, port: int) -> None:
        try:
            self._listener = socket.create_server((LOOPBACK, port), backlog=64)
        except (OSError, OverflowError) as error:
            reason = (
                "it is taken"
                if isinstance(error, OSError) and error.errno == errno.EADDRINUSE
                else str(error)
            )
            raise BadInput(
                f"--port {port}: {reason}; use another, or 0 for any that is free"
            ) from None
        self.port: int = self._listener.getsockname()[1]
        self._open: set[Stream] = set()
        self._lock = threading.Lock()

    def serve(self, reach: Callable[[], Stream]) -> None:
        threading.Thread(target=self._accept, args=(reach,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/"

    def close(self) -> None:
        _end(self._listener)  # not closed alone: a thread that waits for callers would keep it open
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            _end(end)

    def _accept(self, reach: Callable[[], Stream]) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._connect, args=(caller, reach), daemon=True).start()

    def _connect(self, caller: socket.socket, reach: Callable[[], Stream]) -> None:
        try:
            far = reach()
        except PlayrunnerError:
            caller.close()  # the caller sees a closed connection, as it would without a relay
            return
        with self._lock:
            self._open |= {caller, far}
        back = threading.Thread(target=_pump, args=(far, caller), daemon=True)
        back.start()
        _pump(caller, far)
        back.join()
        with self._lock:
            self._open -= {caller, far}
        _end(caller)
        _end(far)


def _pump(source: Stream, sink: Stream) -> None:
    """Until one side has said all: the other is told, and may still answer."""
    try:
        while data := source.recv(READ_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except (OSError, EOFError):
        _end(source)
        _end(sink)


def _end(stream: Stream) -> None:
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except (OSError, EOFError):
        pass  # it has ended by itself
    stream.close()
