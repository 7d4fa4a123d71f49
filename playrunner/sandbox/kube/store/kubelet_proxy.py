"""The API server's proxy to kubelets: requests for logs and commands go to the kubelet of the pod's
node."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store.store import Object, Store
from playrunner.sandbox.kube.wire.messages import Request, Stream, Upgrade
from playrunner.sandbox.kube.wire.runtime import Pod, container_of

_VERBS = {"log": "containerLogs", "exec": "exec", "attach": "attach", "portforward": "portForward"}
_STREAM_NAMES = {"stdin": "input", "stdout": "output", "stderr": "error"}
_NOT_PASSED_ON = ("host", "authorization", "content-length")


class Nodes:
    """The nodes that can be asked, each by the address in its status."""

    def __init__(self, store: Store, folder: Path) -> None:
        """`folder` has ca.crt, and the certificate that we show to kubelets: server.crt and
        server.key."""
        self._store = store
        self._tls = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        self._tls.load_cert_chain(folder / "server.crt", folder / "server.key")

    def ask(self, pod: Pod, what: str, request: Request) -> Stream | Upgrade | None:
        """What the pod's node answers; None where there is no kubelet to ask."""
        node = self._store.get(("", "nodes"), ("", pod["spec"].get("nodeName", "")))
        address = _address(node) if node else None
        if address is None:
            return None
        container = [] if what == "portforward" else [container_of(pod, request)]
        names = [pod["metadata"]["namespace"], pod["metadata"]["name"], *container]
        query = {
            _STREAM_NAMES.get(name, name): values
            for name, values in request.query.items()
            if name != "container"
        }
        target = "/".join(["", _VERBS[what], *names]) + (
            f"?{urlencode(query, doseq=True)}" if query else ""
        )
        return (
            self._log(address, target)
            if what == "log"
            else Upgrade(lambda handler: self._tunnel(address, target, request, handler))
        )

    def _log(self, address: tuple[str, int], target: str) -> Stream:
        connection = http.client.HTTPSConnection(*address, context=self._tls)
        try:
            connection.request("GET", target)
            reply = connection.getresponse()
        except OSError as error:
            raise _unreachable(address, target, error) from error
        if reply.status != 200:
            raise Refusal(reply.status, "BadRequest", reply.read().decode(errors="replace"))
        return Stream(_pieces(reply), "text/plain")

    def _tunnel(
        self, address: tuple[str, int], target: str, request: Request, handler: Any
    ) -> None:
        """Hand the client's request on as it is, and then every byte, both ways."""
        try:
            far = self._tls.wrap_socket(
                socket.create_connection(address, timeout=10), server_hostname=address[0]
            )
        except OSError as error:
            handler.send_error(502, str(_unreachable(address, target, error)))
            return
        far.settimeout(None)
        lines = [f"{request.method} {target} HTTP/1.1", f"Host: {address[0]}:{address[1]}"]
        lines += [
            f"{name}: {value}"
            for name, value in request.headers.items()
            if name.lower() not in _NOT_PASSED_ON
        ]
        with far:
            far.sendall("\r\n".join([*lines, "", ""]).encode())
            threading.Thread(target=_copy, args=(handler.rfile, far), daemon=True).start()
            with suppress(OSError):
                while data := far.recv(65536):
                    handler.wfile.write(data)
                    handler.wfile.flush()


def _address(node: Object) -> tuple[str, int] | None:
    status = node.get("status", {})
    port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port")
    known = {one["type"]: one["address"] for one in status.get("addresses", ())}
    host = known.get("InternalIP") or known.get("Hostname")
    return (host, port) if host and port else None


def _copy(source: Any, far: ssl.SSLSocket) -> None:
    with suppress(OSError, ValueError):
        while data := source.read1(65536):
            far.sendall(data)
    with suppress(OSError):
        far.shutdown(socket.SHUT_RDWR)


def _pieces(reply: http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := reply.read1(65536):
        yield piece


def _unreachable(address: tuple[str, int], target: str, error: OSError) -> Refusal:
    return Refusal(
        500, "InternalError", f'Get "https://{address[0]}:{address[1]}{target}": {error}'
    )
