"""A pod as a host: programs started in it through the API server, which read and write like those
over SSH."""

from __future__ import annotations

import queue
import socket
import threading
from typing import Any
from urllib.parse import urlencode

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.hostside.module import Failed
from playrunner.kube.client import websocket as kube_socket
from playrunner.kube.client.client import Cluster, Kube
from playrunner.kube.client.config import KubeSettings, access
from playrunner.kube.client.transport import Transport
from playrunner.kube.streams.exec import (
    ENDED,
    ENDED_SHAPE,
    STDERR,
    STDIN,
    STDOUT,
    exit_code,
    open_exec,
)
from playrunner.ssh.connection import STDERR_BYTES, STILL_RUNNING, Channel, Stream
from playrunner.ssh.targets import Target
from playrunner.text.answers import document, fitting

CONNECT_SECONDS = 30.0
PIECE_BYTES = 1 << 16
MOST_WAITING = 256  # messages that nobody has read yet; then the pod waits
UNKNOWN_STATUS = 255  # the program's end was not told


class PodConnection:
    """Starts programs in one container of a pod."""

    def __init__(self, target: Target) -> None:
        assert target.container
        self.target = target
        wanted = KubeSettings(target.container.kubeconfig, target.container.context)
        try:
            self._kube = Kube(Cluster(lambda: Transport(access(wanted))))
            self._namespace = target.container.namespace or self._kube.namespace
        except PlayrunnerError as error:
            raise HostUnreachable(f"{target.name}: {error}") from None

    def start(self, command: str, first: bytes = b"") -> Channel:
        assert self.target.container
        pod = self.target.container
        query = urlencode(
            [
                *(("command", word) for word in ("/bin/sh", "-c", command)),
                *((name, "true") for name in ("stdin", "stdout", "stderr")),
                *([("container", pod.container)] if pod.container else []),
            ]
        )
        websocket = kube_socket.library("a kubectl connection")
        try:
            opened = open_exec(
                websocket, self._kube, self._namespace, pod.name, query, CONNECT_SECONDS
            )
        except (Failed, PlayrunnerError) as error:
            raise HostUnreachable(f"{self.target.name}: {error}") from None
        return PodChannel(websocket, opened)

    def forward(self, address: str, port: int) -> Stream:
        raise HostUnreachable(
            f"{self.target.name}: ports are not reached through a kubectl connection"
        )

    def close(self) -> None:
        """Each program has a connection of its own."""


class PodChannel:
    """One program; a thread takes what comes, since reading and writing share one socket."""

    is_ready = False

    def __init__(self, websocket: Any, opened: Any) -> None:
        self._broken = kube_socket.errors_of(websocket)
        self._socket, self._sending = opened, threading.Lock()
        self._socket.settimeout(None)
        self._received: queue.Queue[bytes] = queue.Queue(MOST_WAITING)
        self._stderr, self._end = bytearray(), bytearray()
        self._ended, self._closed = threading.Event(), threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, data: bytes, seconds: float | None = None) -> None:
        view = memoryview(data)
        with self._sending:
            while view:
                try:
                    self._socket.send_binary(bytes([STDIN]) + view[:PIECE_BYTES])
                except self._broken as error:
                    raise OSError(str(error)) from None
                view = view[PIECE_BYTES:]

    def receive(self, seconds: float | None = None) -> bytes:
        try:
            data = self._received.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if not data:
            self._received.put(b"")  # the end stays the end
        return data

    def stderr_text(self) -> str:
        return bytes(self._stderr).decode(errors="replace")

    def status(self, seconds: float | None = None) -> int:
        if not self._ended.wait(seconds):
            return STILL_RUNNING
        if not self._end:
            return UNKNOWN_STATUS
        try:
            return exit_code(
                fitting(document(bytes(self._end), "exec"), ENDED_SHAPE, "the API server")
            )
        except (Failed, PlayrunnerError) as error:
            self._stderr += f"\n{error}".encode()
            return UNKNOWN_STATUS

    def close(self) -> None:
        """Without a close handshake, which would block; the program's input ends with it."""
        self._closed.set()
        try:
            self._socket.sock.shutdown(socket.SHUT_RDWR)
            self._socket.shutdown()
        except self._broken:
            pass  # it has ended by itself

    def _read(self) -> None:
        while not self._end:
            try:
                self._socket.sock.fresh()
                message = self._socket.recv()
            except self._broken:
                break
            message = message.encode() if isinstance(message, str) else message
            if not message:
                break
            self._take(message[0], message[1:])
        self._ended.set()
        self._put(b"")

    def _take(self, stream: int, data: bytes) -> None:
        if stream == STDOUT and data:
            self._put(data)
        elif stream == STDERR:
            self._stderr += data
            del self._stderr[:-STDERR_BYTES]
        elif stream == ENDED:
            self._end += data

    def _put(self, data: bytes) -> None:
        """Waits while there is no room, unless nobody reads any more."""
        while not self._closed.is_set():
            try:
                self._received.put(data, timeout=1)
                return
            except queue.Full:
                continue
