"""A small web server for tests of modules that ask one."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HELLO = b"hello over http\n"
LOGIN = "Basic " + base64.b64encode(b"ada:secret").decode()


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = self.path.partition("?")[0]
        if page == "/hello.txt":
            fresh = "If-Modified-Since" not in self.headers
            self.answer(200 if fresh else 304, HELLO if fresh else b"")
        elif page == "/changing.txt":
            self.answer(200, HELLO)
        elif page == "/sums":
            self.answer(
                200, f"{'0' * 64}  other\n{hashlib.sha256(HELLO).hexdigest()} *hello.txt\n".encode()
            )
        elif page == "/config.json":
            self.answer(
                200,
                b'{"ports": [80, 443]}',
                ("Content-Type", "application/json"),
                ("X-Served-By", "tests"),
            )
        elif page == "/moved":
            self.answer(302, b"", ("Location", "/hello.txt"))
        elif page == "/private":
            allowed = self.headers.get("Authorization") == LOGIN
            self.answer(200 if allowed else 401, b"in", ("WWW-Authenticate", 'Basic realm="tests"'))
        else:
            self.answer(404, b"no such page")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        heard = {
            "method": self.command,
            "body": body,
            "type": self.headers.get("Content-Type"),
            "x": self.headers.get("X-Asked"),
        }
        self.answer(201, json.dumps(heard).encode(), ("Content-Type", "application/json"))

    def answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what was asked shows in the answers."""


@contextmanager
def serving(pages: type[BaseHTTPRequestHandler] = Pages) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
