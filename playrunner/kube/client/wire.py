"""One HTTP connection to an API server: whom it must lead to, and how long an answer may take to
come to its end."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from playrunner.text import answers

CONNECT_SECONDS = 10.0


class _Timed(io.RawIOBase):
    """What comes over a socket, until a deadline: a server that sends a byte a minute does not hold
    anyone for ever."""

    def __init__(self, raw: Any, sock: socket.socket) -> None:
        self._raw, self._sock = raw, sock
        self.deadline = float("inf")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self.deadline == float("inf"):
            return self._raw.readinto(buffer)  # type: ignore[no-any-return]
        left, silence = self.deadline - time.monotonic(), self._sock.gettimeout()
        if left <= 0:
            raise TimeoutError("the answer does not come to its end")
        self._sock.settimeout(min(left, silence or left))
        try:
            return self._raw.readinto(buffer)  # type: ignore[no-any-return]
        finally:
            self._sock.settimeout(silence)

    def close(self) -> None:
        super().close()
        self._raw.close()


class Response(http.client.HTTPResponse):
    """Its head has to come to an end; its body too, unless `endless` is called."""

    def __init__(self, sock: socket.socket, *given: Any, **settings: Any) -> None:
        super().__init__(sock, *given, **settings)
        self._timed = _Timed(self.fp.detach(), sock)  # type: ignore[attr-defined]
        self._timed.deadline = time.monotonic() + answers.ANSWER_SECONDS
        self.fp = io.BufferedReader(self._timed)

    def endless(self) -> Response:
        self._timed.deadline = float("inf")
        return self


class Connection(http.client.HTTPConnection):
    """Verifies the name that the certificate must carry, wherever the connection really leads."""

    response_class = Response

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None, name: str, proxy: str
    ) -> None:
        split = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
        super().__init__(
            split.hostname or host if split else host,
            (split.port or 80) if split else port,
            timeout=CONNECT_SECONDS,
        )
        if split:
            self.set_tunnel(host, port)
        self._context, self._name = context, name

    def connect(self) -> None:
        super().connect()
        if self._context:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)
