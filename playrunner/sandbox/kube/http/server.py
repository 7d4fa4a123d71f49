"""`python -m playrunner.sandbox.kube.http.server --port N --folder F`: the pretend Kubernetes API,
in the foreground, on 127.0.0.1 only."""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import struct
import sys
import time
import traceback
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.faults import Fault
from playrunner.sandbox.kube.http import control
from playrunner.sandbox.kube.http.api import Answer, Api
from playrunner.sandbox.kube.http.authentication import Authentication, groups_of
from playrunner.sandbox.kube.schema.problems import Refusal, unauthorized
from playrunner.sandbox.kube.store.accounts import Accounts
from playrunner.sandbox.kube.store.builtin_controllers import BuiltinControllers
from playrunner.sandbox.kube.store.cluster import Cluster
from playrunner.sandbox.kube.store.kubelet_proxy import Nodes
from playrunner.sandbox.kube.wire.messages import Reply, Request, Stream, Upgrade
from playrunner.sandbox.state import write_file

ADDRESS = "127.0.0.1"
_AT_ONCE = struct.pack("ii", 1, 0)  # a socket closed like this resets its connection
_MAX_BODY = 3 * 1024 * 1024


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.sandbox.kube.http.server", description=__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="where its certificates and token are, and its port goes",
    )
    asked = parser.parse_args(arguments)
    server = serve(Cluster(), asked.folder, asked.port)
    write_file(asked.folder / "port", f"{server.server_port}\n")
    server.serve_forever()
    return 0


def serve(cluster: Cluster, folder: Path, port: int) -> Server:
    """A server ready to run, its built-in controllers started."""
    BuiltinControllers(cluster).start()
    cluster.nodes = Nodes(cluster.store, folder)
    cluster.certificate = folder / "server.crt", folder / "server.key"
    cluster.accounts = Accounts(
        folder, lambda namespace, name: _account_uid(cluster, namespace, name)
    )
    return Server(Api(cluster, Authentication(folder, cluster.accounts)), folder, port)


def _account_uid(cluster: Cluster, namespace: str, name: str) -> str | None:
    found = cluster.store.get(("", "serviceaccounts"), (namespace, name))
    return found["metadata"]["uid"] if found else None


class Server(ThreadingHTTPServer):
    """Threads that speak TLS."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, api: Api, folder: Path, port: int) -> None:
        self.api = api
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.tls.set_alpn_protocols(["http/1.1"])
        self.tls.load_verify_locations(folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_OPTIONAL  # a token does as well
        super().__init__((ADDRESS, port), Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """The handshake, in the connection's own thread: a slow client delays no other."""
        if self.api.cluster.away:
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            return
        request.settimeout(30)
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # not a client of ours
        secured.settimeout(None)
        secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Handler(secured, client_address, self)
        with suppress(OSError):
            secured.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection: request after request, until one takes it over."""

    protocol_version = "HTTP/1.1"
    server: Server
    wbufsize = -1  # an answer leaves in one piece
    broken = False  # a fault has ended the connection

    def _handle(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = self._chunks()
        else:
            body = self.rfile.read(size)
        if self.server.api.cluster.away:
            self._reset()
            return
        request = Request.of(
            self.command, self.path, self.headers, body, groups_of(self.connection.getpeercert())
        )
        if request.path.startswith("/_sandbox/"):
            self._reply(control.answer(self.server.api, request))
            return
        if not self.server.api.authentication.lets_in(
            request
        ):  # not counted, and it uses up no fault
            self._reply(_refused(unauthorized()))
            return
        call = control.Call(request, self.server.api.cluster.kinds)
        fault = self.server.api.cluster.faults.striking(*call.for_faults)
        answer: Answer | None = self._struck(fault) if fault else None
        if answer is None and not self.broken:
            answer = self._answer(request, len(body))
        if fault and fault.kind == "lost":
            self._reset()
            answer = None
        self.server.api.cluster.calls.append(
            call.record(answer.code if isinstance(answer, Reply) else 0, fault)
        )
        if isinstance(answer, Reply):
            self._reply(answer)
        elif isinstance(answer, Stream):
            self._stream(answer, fault)
        elif isinstance(answer, Upgrade):
            self.close_connection = True
            answer.take_over(self)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle

    def _answer(self, request: Request, size: int) -> Answer:
        try:
            if size > _MAX_BODY:
                raise Refusal(
                    413, "RequestEntityTooLarge", f"Request entity too large: limit is {_MAX_BODY}"
                )
            return self.server.api.answer(request)
        except Refusal as refusal:
            return _refused(refusal)
        except Exception as error:  # a defect of ours must not look like a server to retry
            traceback.print_exc()
            said = (
                f"the sandbox fell over {request.method} {request.path} ({type(error).__name__}:"
                f" {error}); its log has more"
            )
            return _refused(Refusal(501, "SandboxDefect", said))

    def _struck(self, fault: Fault) -> Reply | None:
        """What a fault does before anything is done; None: the request goes on."""
        if fault.kind == "throttle":
            why = "the server has received too many requests and has asked us to try again later"
            return _refused(
                Refusal(429, "TooManyRequests", why, {"retryAfterSeconds": 1}, retry_after=1)
            )
        if fault.kind == "error":
            reason = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}.get(
                fault.status, "InternalError"
            )
            return _refused(
                Refusal(fault.status, reason, fault.message or "a fault of the sandbox")
            )
        if fault.kind == "deny":
            return _refused(
                Refusal(
                    403,
                    "Forbidden",
                    fault.message
                    or 'forbidden: User "sandbox-admin" cannot do this: a fault of the sandbox',
                )
            )
        if fault.kind == "reset":
            self._reset()
        if fault.kind == "timeout":
            time.sleep(fault.seconds)
            self._reset()
        if fault.kind == "slow":
            time.sleep(fault.seconds)
        return None

    def _reply(self, reply: Reply) -> None:
        body = reply.body()
        self.send_response(reply.code)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            for one in (value,) if isinstance(value, str) else value:
                self.send_header(name, one)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _stream(self, stream: Stream, fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", stream.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        until = time.monotonic() + fault.seconds if fault and fault.kind == "drop" else None
        for piece in stream.pieces:
            if self.server.api.cluster.away or (until is not None and time.monotonic() > until):
                self._reset()
                return
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            elif self._client_left():
                self.close_connection = True
                return
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _client_left(self) -> bool:
        self.connection.settimeout(0)
        try:
            return bool(self.connection.recv(1) == b"")
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            return True
        finally:
            self.connection.settimeout(None)

    def _reset(self) -> None:
        """End the connection as a crash does."""
        self.close_connection = self.broken = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        os.close(self.connection.detach())  # its files would hold a socket that is merely closed

    def _chunks(self) -> bytes:
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: `/_sandbox/calls` tells."""


def _refused(refusal: Refusal) -> Reply:
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
    return Reply(json.loads(json.dumps(refusal.status())), refusal.code, headers=headers)


if __name__ == "__main__":
    sys.exit(main())
