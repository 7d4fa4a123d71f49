"""The way from a real API server into the cluster: a proxy that finds the pods behind a service's
address.

An API server calls admission webhooks at the cluster address of their service, where nothing
listens without kube-proxy. It is configured (`playrunner.sandbox.kube.process.real`) to use this
proxy instead, which forwards to a ready pod of the service, and to nodes as is."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    ENDPOINTS,
    PODS,
    SERVICES,
    key_of,
    uid_of,
)

ADDRESS = "127.0.0.1"
CONNECT_SECONDS = 10.0
_CHUNK = 65536


class Egress:
    """Listens on the port that was chosen when the API server was started; on none beside an API
    that needs no proxy."""

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(context.folder / "server.crt", context.folder / "server.key")
        self._tls.load_verify_locations(context.folder / "ca.crt")
        self._tls.verify_mode = ssl.CERT_REQUIRED

    def start(self) -> None:
        known = self.context.folder / "egress-port"
        if known.exists():
            listener = socket.create_server((ADDRESS, int(known.read_text())), backlog=64)
            threading.Thread(
                target=self._accept, args=(listener,), name="egress", daemon=True
            ).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            accepted, _ = listener.accept()
            threading.Thread(
                target=self._serve, args=(accepted,), name="egress-connection", daemon=True
            ).start()

    def _serve(self, accepted: socket.socket) -> None:
        try:
            client = self._tls.wrap_socket(accepted, server_side=True)
        except OSError:
            return  # no certificate of ours
        with client:
            try:
                target = self._asked(client)
                with socket.create_connection(target, CONNECT_SECONDS) as server:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    _join(client, server)
            except (OSError, ValueError, IndexError):
                with suppress(OSError):
                    client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")

    def _asked(self, client: socket.socket) -> tuple[str, int]:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(_CHUNK)
            if not piece:
                raise ValueError("the client left")
            head += piece
        host, _, port = head.split()[1].decode().rpartition(":")
        return self._meant(host, int(port))

    def _meant(self, host: str, port: int) -> tuple[str, int]:
        """Where an address of the cluster really is."""
        for service in self.context.see(SERVICES).all():
            if service["spec"].get("clusterIP") == host:
                return self._behind(key_of(service), port, service["spec"].get("ports") or [])
        return host, port

    def _behind(
        self, key: tuple[str, str], port: int, ports: list[dict[str, object]]
    ) -> tuple[str, int]:
        pods = {uid_of(pod): pod for pod in self.context.see(PODS).all(key[0]) if is_ready(pod)}
        name = next((entry.get("name") for entry in ports if entry["port"] == port), None)
        for subset in (self.context.see(ENDPOINTS).get(*key) or {}).get("subsets") or ():
            inner = next(
                (entry["port"] for entry in subset.get("ports") or () if entry.get("name") == name),
                port,
            )
            for address in subset.get("addresses") or ():
                pod = pods.get((address.get("targetRef") or {}).get("uid", ""))
                if pod is not None:
                    return str(pod["status"]["podIP"]), int(inner)
        raise ValueError(f"no pod is behind {key}")


def _join(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    source.settimeout(None)
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
