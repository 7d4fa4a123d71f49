"""A way to an API server that only a host of the inventory reaches: a port of this machine that
leads there over SSH."""

from __future__ import annotations

import socket
import threading

from playrunner.errors import HostUnreachable
from playrunner.ssh.connection import Connection, Stream

PIECE = 1 << 16


class Tunnel:
    """Listens on loopback, and carries each connection through the host to the address."""

    def __init__(self, connection: Connection, address: str, port: int) -> None:
        connection.forward(address, port).close()  # says at once when the host cannot reach it
        self._connection, self._address, self._port = connection, address, port
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.end = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, name="tunnel", daemon=True).start()

    def close(self) -> None:
        self._server.close()
        self._connection.close()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                far = self._connection.forward(self._address, self._port)
            except HostUnreachable:
                # Whoever called sees a broken connection, and knows how long to go on trying
                caller.close()
                continue
            caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink in ((caller, far), (far, caller)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: Stream, sink: Stream) -> None:
    try:
        while data := source.recv(PIECE):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except (OSError, EOFError):
        for end in (source, sink):
            end.close()
