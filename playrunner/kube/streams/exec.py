"""A program run inside a pod's container: its output and how it ended, over a WebSocket to the API
server."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from playrunner.errors import HostUnreachable
from playrunner.hostside.module import Failed
from playrunner.kube.client import websocket as kube_socket
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import problem
from playrunner.kube.client.transport import NotReached
from playrunner.kube.watch.explain import PODS
from playrunner.text.answers import BadAnswer, Shape, document, fitting

STDIN, STDOUT, STDERR, ENDED = range(4)
_ENDED: Shape = {
    "status": str,
    "message": str,
    "details": {"causes": [{"reason": str, "message": str}]},
}
LOOK_SECONDS = 0.5  # how soon one who waits notices that the run is being stopped


@dataclass(frozen=True)
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
    """Run it to its end."""
    websocket = kube_socket.library("k8s.exec")
    transport, deadline = kube.cluster.transport, time.monotonic() + seconds
    query = urlencode(
        [
            *(("command", word) for word in command),
            ("stdout", "true"),
            ("stderr", "true"),
            *([("stdin", "true")] if stdin else []),
            *([("container", container)] if container else []),
        ]
    )
    try:
        socket = kube_socket.opened(
            websocket, transport, f"{PODS.path(namespace, pod)}/exec?{query}", seconds, LOOK_SECONDS
        )
    except NotReached as error:
        raise HostUnreachable(f"the API server does not answer: {error}") from None
    except websocket.WebSocketBadStatusException as error:
        body = error.resp_body if isinstance(error.resp_body, bytes) else b""
        raise problem(
            error.status_code, body, "exec", f"pods {pod} -n {namespace}", transport.access.user
        ) from None
    except (
        websocket.WebSocketException,
        OSError,
        ValueError,
        LookupError,
    ) as error:  # also: headers that are none
        raise HostUnreachable(f"exec in pod {namespace}/{pod}: {error}") from None
    heard: dict[int, bytearray] = {STDOUT: bytearray(), STDERR: bytearray(), ENDED: bytearray()}
    try:
        if stdin:
            socket.send_binary(bytes([STDIN]) + stdin.encode())
        while not heard[ENDED]:
            if time.monotonic() > deadline:
                raise Failed(
                    f"not done within {seconds:g} seconds",
                    stdout=_text(heard[STDOUT]),
                    stderr=_text(heard[STDERR]),
                )
            kube.sleep(0)  # ends here when the run is being stopped
            try:
                data = socket.recv()
            except websocket.WebSocketTimeoutException:
                continue
            data = data.encode() if isinstance(data, str) else data
            if data:
                heard.setdefault(data[0], bytearray()).extend(data[1:])
            elif not socket.connected:
                break
    except (websocket.WebSocketConnectionClosedException, OSError):
        pass  # the last word may have come before
    except (websocket.WebSocketException, ValueError) as error:
        raise BadAnswer(
            f"exec in pod {namespace}/{pod}: the API server sent what cannot be read: {error}"
        ) from None
    finally:
        socket.close()
    if not heard[ENDED]:
        raise Failed(
            f"the connection to pod {namespace}/{pod} broke; whether the program ended is not"
            " known",
            stdout=_text(heard[STDOUT]),
            stderr=_text(heard[STDERR]),
        )
    said = fitting(
        document(bytes(heard[ENDED]), f"exec in pod {namespace}/{pod}"), _ENDED, "the API server"
    )
    return Ran(_exit_code(said), _text(heard[STDOUT]), _text(heard[STDERR]))


def _exit_code(status: dict[str, Any]) -> int:
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or ()
    told = next(
        (str(cause.get("message")) for cause in causes if cause.get("reason") == "ExitCode"), ""
    )
    if not re.fullmatch(r"\d{1,9}", told, re.ASCII):
        raise Failed(f"the program could not be run: {status.get('message')}")
    return int(told)


def _text(data: bytearray) -> str:
    return data.decode(errors="replace")
