"""Logs of pods, commands in them and connections to them, between a client and the pod runtime.

Nothing here depends on the API: the kubelet below a real API server gets the same requests in the
same forms.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Any

from playrunner.sandbox.kube.schema.problems import Refusal, bad_request
from playrunner.sandbox.kube.wire import spdy, websockets
from playrunner.sandbox.kube.wire.channels import Channels, pump
from playrunner.sandbox.kube.wire.messages import Request, Stream, Upgrade
from playrunner.sandbox.kube.wire.runtime import LogOptions, Pod, PodRuntime, Session, container_of
from playrunner.sandbox.kube.wire.spdy import Spdy, SpdyChannels
from playrunner.sandbox.kube.wire.websockets import WebSocket


def log(runtime: PodRuntime, pod: Pod, request: Request) -> Stream:
    """The log of a container, as far as it goes or as it grows."""
    options = LogOptions(
        container_of(pod, request),
        request.flag("follow"),
        request.number("tailLines"),
        request.number("sinceSeconds"),
        request.flag("previous"),
        request.flag("timestamps"),
        request.number("limitBytes"),
    )
    return Stream(runtime.logs(pod, options), "text/plain")


def execute(runtime: PodRuntime, pod: Pod, request: Request) -> Upgrade:
    """A command in a container, its input and output over the connection."""
    _require_upgrade(request)
    command = request.query.get("command", [])
    if not command:
        raise bad_request("you must specify at least one command for the container")
    container, tty = container_of(pod, request), request.flag("tty")
    session = runtime.exec(pod, container, command, stdin=request.flag("stdin"), tty=tty)
    return _joined(session, request)


def attach(runtime: PodRuntime, pod: Pod, request: Request) -> Upgrade:
    """The container's own process."""
    _require_upgrade(request)
    session = runtime.attach(
        pod, container_of(pod, request), stdin=request.flag("stdin"), tty=request.flag("tty")
    )
    return _joined(session, request)


def forward(runtime: PodRuntime, pod: Pod, request: Request) -> Upgrade:
    """Connections to ports of the pod."""
    _require_upgrade(request)
    if spdy.wanted(request.headers):
        return Upgrade(lambda handler: _forward_spdy(runtime, pod, Spdy(handler)))
    ports = [
        int(one)
        for value in request.query.get("ports", [])
        for one in value.split(",")
        if one.isdigit()
    ]
    if not ports:
        raise bad_request('query parameter "ports" is required')
    return Upgrade(lambda handler: _forward_websocket(runtime, pod, ports, WebSocket(handler)))


def _require_upgrade(request: Request) -> None:
    if not (websockets.wanted(request.headers) or spdy.wanted(request.headers)):
        raise bad_request("Upgrade request required")


def _joined(session: Session, request: Request) -> Upgrade:
    def take_over(handler: Any) -> None:
        channels: Channels
        if spdy.wanted(request.headers):
            channels = SpdyChannels(Spdy(handler), _streams_asked(request))
        else:
            channels = WebSocket(handler)
        pump(session, channels)

    return Upgrade(take_over)


def _streams_asked(request: Request) -> int:
    """How many streams a client opens: one for errors, those it named, and one for the size of a
    terminal."""
    tty = request.flag("tty")
    return (
        1
        + request.flag("stdin")
        + request.flag("stdout")
        + (request.flag("stderr") and not tty)
        + tty
    )


def _forward_websocket(
    runtime: PodRuntime, pod: Pod, ports: list[int], channels: WebSocket
) -> None:
    """Two channels for each port, data and errors; each begins with the port's number."""
    connections: dict[int, socket.socket] = {}
    for at, port in enumerate(ports):
        for channel in (2 * at, 2 * at + 1):
            channels.send(channel, struct.pack("<H", port))
        try:
            connections[2 * at] = runtime.connect(pod, port)
        except (OSError, Refusal) as error:
            channels.send(2 * at + 1, str(error).encode())
            continue
        threading.Thread(
            target=_copy_out, args=(connections[2 * at], channels, 2 * at), daemon=True
        ).start()
    with suppress(OSError):
        for channel, data in channels.received():
            if channel in connections and data:
                connections[channel].sendall(data)
    for connection in connections.values():
        connection.close()


def _copy_out(connection: socket.socket, channels: WebSocket, channel: int) -> None:
    with suppress(OSError):
        while data := connection.recv(65536):
            channels.send(channel, data)
    channels.close()


def _forward_spdy(runtime: PodRuntime, pod: Pod, connection: Spdy) -> None:
    """A pair of streams for each connection: errors, then data."""
    errors: dict[str, int] = {}
    targets: dict[int, socket.socket] = {}
    with suppress(OSError):
        for stream, headers, data, last in connection.frames():
            if headers is not None:
                request_id = headers.get("requestid", "")
                if headers.get("streamtype") == "error":
                    errors[request_id] = stream
                    continue
                try:
                    targets[stream] = runtime.connect(pod, int(headers["port"]))
                except (OSError, Refusal) as error:
                    connection.data(errors.get(request_id, stream), str(error).encode(), last=True)
                    connection.data(stream, b"", last=True)
                    continue
                arguments = (targets[stream], connection, stream, errors.get(request_id))
                threading.Thread(target=_copy_out_spdy, args=arguments, daemon=True).start()
            target = targets.get(stream)
            if target is not None and data:
                target.sendall(data)
            if target is not None and last:
                with suppress(OSError):
                    target.shutdown(socket.SHUT_WR)
    for target in targets.values():
        target.close()


def _copy_out_spdy(source: socket.socket, connection: Spdy, stream: int, error: int | None) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            connection.data(stream, data)
        connection.data(stream, b"", last=True)
        if error is not None:
            connection.data(error, b"", last=True)
