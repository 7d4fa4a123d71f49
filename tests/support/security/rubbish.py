"""Real HTTP servers on loopback that answer rubbish."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"


@dataclass(frozen=True)
class Said:
    """One answer, to whatever is asked."""

    body: bytes = b""
    kind: str = JSON
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None  # what it says of its length, when that is not so


RUBBISH: dict[str, Said] = {
    "html": Said(b"<html><body>Welcome to nginx!</body></html>", "text/html; charset=utf-8"),
    "nothing": Said(b""),
    "half of a JSON": Said(b'{"kind": "PodList", "items": [{"metada'),
    "a deep JSON": Said(b"[" * 100_000 + b"]" * 100_000),
    "a JSON that is deep in a field": Said(b'{"a":' * 400 + b"1" + b"}" * 400),
    "null": Said(b"null"),
    "a list": Said(b"[]"),
    "a number": Said(b"5"),
    "a text": Said(b'"hello"'),
    "an empty mapping": Said(b"{}"),
    "no UTF-8": Said(b'{"kind": "\xff\xfe"}'),
    "half a character": Said(
        b'{"kind": "\\ud800", "items": [], "metadata": {}, "message": "\\ud800"}'
    ),
    "not a number": Said(b'{"items": NaN}'),
    "a number without end": Said(b'{"items": ' + b"9" * 100_000 + b"}"),
    "what is called gzip and is not": Said(b"plain", headers={"Content-Encoding": "gzip"}),
    "half of a gzip": Said(
        gzip.compress(b'{"kind": "PodList", "metadata": {}, "items": []}')[:-12],
        headers={"Content-Encoding": "gzip"},
    ),
    "a mapping of lists": Said(
        b'{"kind": [], "apiVersion": [], "metadata": [], "items": {}, "spec": [], "status": []}'
    ),
    "a redirect to itself": Said(b"", status=302, headers={"Location": "/"}),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server: Any = self.server
        server.asked.append((self.command, self.path, dict(self.headers.items())))
        said: Said = server.answer(self.command, self.path)
        self.send_response(said.status)
        self.send_header("Content-Type", said.kind)
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.send_header(
            "Content-Length", str(len(said.body) if said.length is None else said.length)
        )
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said.body)
        if said.length is not None:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any

    def log_message(self, *given: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    asked: list[tuple[str, str, dict[str, str]]]
    answer: Callable[[str, str], Said]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *given: Any) -> None:
        pass  # a client that goes away in the middle is what some tests are about


@contextmanager
def serving(answer: Said | Callable[[str, str], Said]) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.asked = []
    server.answer = answer if callable(answer) else lambda method, path: answer
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def said(value: Any, **more: Any) -> Said:
    return Said(json.dumps(value).encode(), **more)
