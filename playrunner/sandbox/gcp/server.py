"""`python -m playrunner.sandbox.gcp.server --port N --port-file F`: the pretend Google Cloud, in
the foreground, on 127.0.0.1 only."""

from __future__ import annotations

import argparse
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from playrunner.sandbox.gcp.front import Front
from playrunner.sandbox.gcp.messages import Reply, Request
from playrunner.sandbox.http import sockets
from playrunner.sandbox.state import write_file

ADDRESS = "127.0.0.1"


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    server = _Server((ADDRESS, asked.port), _Handler)
    server.front = Front(asked.port_file.parent)
    write_file(asked.port_file, f"{server.server_port}\n")
    server.serve_forever()
    return 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    front: Front

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or was reset by a fault, is no news."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        reply, fault = self.server.front.answer(self._request())
        if fault is not None and fault.kind == "slow":
            time.sleep(fault.seconds)
        elif fault is not None and fault.kind == "timeout":
            sockets.keep_silent(self.connection, fault.seconds)
        if reply is None or (fault is not None and fault.kind != "slow"):
            raise sockets.reset(self.connection)
        self._send(reply)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _request(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query, keep_blank_values=True))
        body = (
            self._chunks()
            if headers.get("transfer-encoding", "").lower() == "chunked"
            else self.rfile.read(int(headers.get("content-length") or 0))
        )
        base = f"http://{headers.get('host', ADDRESS)}"
        return Request(
            headers.get("x-http-method-override", self.command),
            address.path,
            query,
            headers,
            body,
            base,
        )

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status, HTTPStatus(reply.status).phrase)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """`/_sandbox/calls` tells."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m playrunner.sandbox.gcp.server", description=__doc__
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument(
        "--port-file", type=Path, required=True, help="where to write the port once it listens"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
