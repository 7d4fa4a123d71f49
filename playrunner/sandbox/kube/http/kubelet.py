"""A stand-in kubelet: what an API server, pretend or real, asks a node about its pods. The process
that runs the pods starts one."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.http import podstreams
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.wire.messages import Reply, Request, Stream, Upgrade
from playrunner.sandbox.kube.wire.runtime import Pod, PodRuntime

ADDRESS = "127.0.0.1"
_STREAM_NAMES = {
    "input": "stdin",
    "output": "stdout",
    "error": "stderr",
}  # what API servers call the streams of a command

_HANDLERS: dict[str, Callable[[PodRuntime, Pod, Request], Stream | Upgrade]] = {
    "containerLogs": podstreams.log,
    "exec": podstreams.execute,
    "attach": podstreams.attach,
    "portForward": podstreams.forward,
}


class Kubelet(ThreadingHTTPServer):
    """Answers for one node; only to those who have a certificate of the sandbox's authority."""

    daemon_threads = True

    def __init__(
        self,
        runtime: PodRuntime,
        find: Callable[[str, str], Pod | None],
        folder: Path,
        port: int = 0,
    ) -> None:
        """`find` gives a pod by namespace and name; `folder` has ca.crt, server.crt and
        server.key."""
        self.runtime, self.find = runtime, find
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.tls.load_verify_locations(folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_REQUIRED
        super().__init__((ADDRESS, port), _Handler)

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name="kubelet", daemon=True).start()

    def node_status(self) -> dict[str, Any]:
        """The part of its node's status by which API servers find it."""
        addresses = [
            {"type": "InternalIP", "address": ADDRESS},
            {"type": "Hostname", "address": "localhost"},
        ]
        return {
            "addresses": addresses,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.server_port}},
        }

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # no certificate of ours
        with secured:
            secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Handler(secured, client_address, self)

    def answer(self, request: Request) -> Reply | Stream | Upgrade:
        verb, *parts = request.path.strip("/").split("/")
        if verb == "healthz":
            return Reply(b"ok", content_type="text/plain")
        pod = self.find(parts[0], parts[1]) if len(parts) >= 2 else None
        if pod is None:
            raise Refusal(404, "NotFound", f"there is no pod {'/'.join(parts[:2])} on this node")
        query = {_STREAM_NAMES.get(name, name): values for name, values in request.query.items()}
        if len(parts) > 2:
            query["container"] = [parts[-1]]
        asked = Request(request.method, request.path, query, request.headers)
        handler = _HANDLERS.get(verb)
        if handler is None:
            raise Refusal(404, "NotFound", f"a node has no /{verb}")
        return handler(self.runtime, pod, asked)


class _Handler(BaseHTTPRequestHandler):
    """One request for each connection."""

    server: Kubelet
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            answer = self.server.answer(Request.of(self.command, self.path, self.headers, body))
            pieces = iter(answer.pieces) if isinstance(answer, Stream) else iter(())
            first = next(
                pieces, b""
            )  # a runtime may refuse only when it is asked for the first piece
        except Refusal as refusal:
            self._whole(refusal.code, refusal.message.encode())
            return
        if isinstance(answer, Upgrade):
            answer.take_over(self)
        elif isinstance(answer, Reply):
            self._whole(answer.code, answer.body())
        else:
            self.send_response(200)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in chain([first], pieces):
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = _handle

    def _whole(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""
