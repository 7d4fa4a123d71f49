"""A program run inside a pod's container: its output and how it ended, over a WebSocket to the API
server."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from playrunner.errors import HostUnreachable
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.kube.client import websocket as kube_socket
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import problem
from playrunner.kube.client.transport import NotReached
from playrunner.kube.watch.explain import PODS
from playrunner.text.answers import BadAnswer, Shape, document, fitting

STDIN, STDOUT, STDERR, ENDED = range(4)
ENDED_SHAPE: Shape = {
    "status": str,
    "message": str,
    "details": {"causes": [{"reason": str, "message": str}]},
}
LOOK_SECONDS = 0.5  # how soon a wait notices that the run is being stopped


@frozen
class Ran:
    """How a program ended."""

    rc: int
    out: str
    err: str


def run_in_pod(
    kube: Kube,
    namespace: str,
    pod: str,
    container: str,
    command: Sequence[str],
    stdin: str = "",
    seconds: float = 300,
) -> Ran:
    """Run a program in a container until it ends."""
    websocket = kube_socket.library("k8s.exec")
    query = urlencode(
        [
            *(("command", word) for word in command),
            ("stdout", "true"),
            ("stderr", "true"),
            *([("stdin", "true")] if stdin else []),
            *([("container", container)] if container else []),
        ]
    )
    deadline = time.monotonic() + seconds
    socket = open_exec(websocket, kube, namespace, pod, query, seconds)
    streams = {STDOUT: bytearray(), STDERR: bytearray(), ENDED: bytearray()}
    try:
        if stdin:
            socket.send_binary(bytes([STDIN]) + stdin.encode())
        while not streams[ENDED] and _receive(websocket, socket, streams):
            if time.monotonic() > deadline:
                raise Failed(f"not done within {seconds:g} seconds", **_output(streams))
            kube.sleep(0)  # raises when the run is being stopped
    except (websocket.WebSocketConnectionClosedException, OSError):
        pass  # the exit status may have come before
    except (websocket.WebSocketException, ValueError) as error:
        raise BadAnswer(
            f"exec in pod {namespace}/{pod}: the API server sent what cannot be read: {error}"
        ) from None
    finally:
        socket.close()
    if not streams[ENDED]:
        raise Failed(
            f"the connection to pod {namespace}/{pod} broke; whether the program ended is not"
            " known",
            **_output(streams),
        )
    status = fitting(
        document(bytes(streams[ENDED]), f"exec in pod {namespace}/{pod}"),
        ENDED_SHAPE,
        "the API server",
    )
    output = _output(streams)
    return Ran(exit_code(status), output["stdout"], output["stderr"])


def open_exec(
    websocket: Any, kube: Kube, namespace: str, pod: str, query: str, seconds: float
) -> Any:
    transport = kube.cluster.transport
    path = f"{PODS.path(namespace, pod)}/exec?{query}"
    try:
        return kube_socket.opened(websocket, transport, path, seconds, LOOK_SECONDS)
    except NotReached as error:
        raise HostUnreachable(f"the API server does not answer: {error}") from None
    except websocket.WebSocketBadStatusException as error:
        body = error.resp_body if isinstance(error.resp_body, bytes) else b""
        raise problem(
            error.status_code, body, "exec", f"pods {pod} -n {namespace}", transport.access.user
        ) from None
    except (websocket.WebSocketException, OSError, ValueError, LookupError) as error:
        # ValueError and LookupError: headers that cannot be parsed.
        raise HostUnreachable(f"exec in pod {namespace}/{pod}: {error}") from None


def _receive(websocket: Any, socket: Any, streams: dict[int, bytearray]) -> bool:
    """Take one message, if one comes in time; False when the connection is closed."""
    try:
        data = socket.recv()
    except websocket.WebSocketTimeoutException:
        return True
    data = data.encode() if isinstance(data, str) else data
    if not data:
        return bool(socket.connected)
    streams.setdefault(data[0], bytearray()).extend(data[1:])
    return True


def exit_code(status: dict[str, Any]) -> int:
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or ()
    code = next(
        (str(cause.get("message")) for cause in causes if cause.get("reason") == "ExitCode"), ""
    )
    if not re.fullmatch(r"\d{1,9}", code, re.ASCII):
        raise Failed(f"the program could not be run: {status.get('message')}")
    return int(code)


def _output(streams: dict[int, bytearray]) -> dict[str, str]:
    return {
        "stdout": streams[STDOUT].decode(errors="replace"),
        "stderr": streams[STDERR].decode(errors="replace"),
    }
