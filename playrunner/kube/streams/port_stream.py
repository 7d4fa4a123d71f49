"""A connection to a port of a pod, over a WebSocket to the API server; it reads and writes like a
socket."""

from __future__ import annotations

import socket
import threading
from typing import Any
from urllib.parse import urlencode

from playrunner.errors import HostUnreachable
from playrunner.kube.client import websocket as kube_socket
from playrunner.kube.client.client import Kube
from playrunner.kube.client.transport import NotReached
from playrunner.kube.watch.explain import PODS

DATA, ERROR = 0, 1
CONNECT_SECONDS = 30.0


class PodStream:
    """One connection; what the pod refuses is raised when it is read."""

    def __init__(self, kube: Kube, namespace: str, pod: str, port: int) -> None:
        websocket = kube_socket.library("a forwarded port")
        self._broken = kube_socket.errors_of(websocket)
        not_opened: tuple[type[Exception], ...] = (NotReached, *self._broken)
        self._what, self._sending = f"port {port} of pod {namespace}/{pod}", threading.Lock()
        transport = kube.cluster.transport
        path = f"{PODS.path(namespace, pod)}/portforward?{urlencode({'ports': port})}"
        try:
            self._socket: Any = kube_socket.opened(
                websocket, transport, path, CONNECT_SECONDS, CONNECT_SECONDS
            )
        except not_opened as error:
            raise HostUnreachable(f"{self._what} cannot be reached: {error}") from None
        self._socket.settimeout(None)
        self._greeted: set[int] = set()  # each channel begins with the port's number
        self._rest = b""

    def recv(self, size: int) -> bytes:
        """What has come; nothing once the other side has ended."""
        while not self._rest:
            try:
                self._socket.sock.fresh()
                message = self._socket.recv()
            except self._broken:
                return b""
            message = message.encode() if isinstance(message, str) else message
            if not message:
                return b""
            channel, data = message[0], message[1:]
            if channel not in self._greeted:
                self._greeted.add(channel)
                data = data[2:]
            if channel == ERROR and data:
                raise OSError(f"{self._what}: {data.decode(errors='replace')}")
            self._rest = data if channel == DATA else b""
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def sendall(self, data: bytes) -> None:
        with self._sending:
            try:
                self._socket.send_binary(bytes([DATA]) + data)
            except self._broken as error:
                raise OSError(f"{self._what}: {error}") from None

    def shutdown(self, how: int) -> None:
        """There are no half-closed connections here: both sides end together."""
        if how == socket.SHUT_RDWR:
            self.close()

    def close(self) -> None:
        """Without a close handshake, which would block; also ends a read that waits for the next
        piece."""
        try:
            self._socket.sock.shutdown(socket.SHUT_RDWR)
            self._socket.shutdown()
        except self._broken:
            pass  # it has ended by itself
