"""A WebSocket to an API server, for programs in pods and forwarded ports: bounded in size, and
never led to another host."""

from __future__ import annotations

import time
from typing import Any

from playrunner.errors import BadInput
from playrunner.kube.client.transport import Transport
from playrunner.project import install_extra
from playrunner.text import answers
from playrunner.text.answers import BadAnswer

PROTOCOL = "v4.channel.k8s.io"
MOST_FRAME = 32 << 20  # kubelets send frames of 32 kB


def library(what: str) -> Any:
    """The package that speaks the protocol, loaded when it is needed."""
    try:
        import websocket
    except ImportError:
        raise BadInput(
            f"{what} needs websocket-client; install it with: {install_extra('k8s')}"
        ) from None
    return websocket


def errors_of(websocket: Any) -> tuple[type[Exception], ...]:
    """What a broken socket raises; closed by another thread, it may be found without itself."""
    return (websocket.WebSocketException, OSError, ValueError, AttributeError, LookupError)


def opened(websocket: Any, transport: Transport, path: str, seconds: float, timeout: float) -> Any:
    """An open one; the library's own errors are for the caller."""
    headers = {
        key: value
        for key, value in transport.headers({}).items()
        if key in ("Authorization", "User-Agent")
    }
    metered = _Metered(transport.connection(seconds).sock, websocket.WebSocketProtocolException)
    socket = websocket.create_connection(
        f"wss://{transport.server_name}{path}",
        header=headers,
        socket=metered,
        subprotocols=[PROTOCOL],
        suppress_origin=True,
        timeout=timeout,
        redirect_limit=0,
    )  # with redirects, the authorization would go along to wherever the server says
    if socket.getstatus() != 101:
        socket.shutdown()
        raise BadAnswer(
            f"{transport.source(path.partition('?')[0])} answered {socket.getstatus()} and leads"
            " elsewhere, which no API server does"
        )
    metered.deadline = float("inf")  # from here on, who reads says how long
    strict = socket.frame_buffer.recv_strict

    def bounded(size: int) -> Any:
        if size > MOST_FRAME:
            raise websocket.WebSocketProtocolException(f"a frame of {size} bytes")
        return strict(size)

    socket.frame_buffer.recv_strict = bounded
    return socket


class _Metered:
    """A socket that gives no more than an answer may have, and its head within the time of one."""

    def __init__(self, sock: Any, problem: type[Exception]) -> None:
        self._sock, self._problem, self._left = sock, problem, answers.MOST_BYTES
        self.deadline = time.monotonic() + answers.ANSWER_SECONDS

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def fileno(self) -> int:
        return int(self._sock.fileno())

    def fresh(self) -> None:
        """What came so far was used; from here on as much again may come."""
        self._left = answers.MOST_BYTES

    def recv(self, size: int) -> bytes:
        if time.monotonic() > self.deadline:
            raise self._problem("the answer does not come to its end")
        data: bytes = self._sock.recv(size)
        self._left -= len(data)
        if self._left < 0:
            raise self._problem(f"more than {answers.MOST_BYTES >> 20} MiB")
        return data
