"""A small web server on loopback for the cases that fetch: files of `web-files/`, and three answers
made on the spot."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FILES = Path(__file__).parent / "web-files"


@contextmanager
def running_web() -> Iterator[str]:
    """Yields the server's address, such as http://127.0.0.1:41234."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(FILES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/status/"):
            self._answer(int(self.path.rsplit("/", 1)[1]), {"path": self.path})
        elif self.path.startswith("/echo"):
            self._echo()
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self._echo()

    do_PUT = do_DELETE = do_PATCH = do_POST

    def _echo(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self._answer(
            200,
            {
                "method": self.command,
                "path": self.path,
                "body": body,
                "type": self.headers.get("Content-Type"),
                "token": self.headers.get("X-Token"),
                "authorization": self.headers.get("Authorization"),
            },
        )

    def _answer(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests' output belongs to the tests."""
