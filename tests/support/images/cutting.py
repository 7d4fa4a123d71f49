"""A way to a registry that breaks: after so many bytes from the client, every connection is cut,
until it is mended."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Listens on loopback and passes bytes on; `left` is how many more may come from clients before
    it cuts."""

    def __init__(self, target: str, left: int, mends_itself: bool = False) -> None:
        host, _, port = target.partition(":")
        self._target, self._left, self._lock = (host, int(port)), left, threading.Lock()
        self.cuts, self.whole, self._mends_itself = 0, False, mends_itself
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def mend(self) -> None:
        self.whole = True

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                for source, sink, counted in ((client, server, True), (server, client, False)):
                    threading.Thread(
                        target=self._pass_on, args=(source, sink, counted), daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                if counted and not self._may_pass(len(data)):
                    break
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _may_pass(self, size: int) -> bool:
        with self._lock:
            self._left -= size
            if self._left >= 0 or self.whole:
                return True
            self.cuts += 1
            self.whole = self._mends_itself
            return False
