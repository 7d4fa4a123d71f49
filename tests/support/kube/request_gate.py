"""A gate before an API server: it can be shut, and can cut what goes through, without the server
knowing."""

from __future__ import annotations

import contextlib
import socket
import threading


class Gate:
    """A port that leads to another, while it is open."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._open, self._pairs = True, list[tuple[socket.socket, socket.socket]]()
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> int:
        """End every connection; new ones are let through."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        return len(pairs)

    def shut(self) -> None:
        self._open = False
        self.cut()

    def reopen(self) -> None:
        self._open = True

    def close(self) -> None:
        self._server.close()
        self.cut()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            if not self._open:
                caller.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            self._pairs.append((caller, far))
            for source, sink in ((caller, far), (far, caller)):
                threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
