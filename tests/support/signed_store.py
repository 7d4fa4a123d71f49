"""A web server that gives its only file to requests with the right signature."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIGNATURE = "?X-Signature=hush"
CONTENT = b"some text\n"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        allowed = self.path.endswith(SIGNATURE)
        body = CONTENT if allowed else b""
        self.send_response(200 if allowed else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None: ...


@contextmanager
def signed_store() -> Iterator[int]:
    """The port on which it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
