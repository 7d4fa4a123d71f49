"""`python -m playrunner.sandbox.datasets --port N --port-file FILE`: the server itself; it serves
the folder beside its port file, byte ranges included."""

from __future__ import annotations

import argparse
import json
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.datasets import stand_ins

FOLDER, DECLARED = "files", "declared.json"


class Handler(SimpleHTTPRequestHandler):
    """Files with their ETag; a request for a range gets the bytes from its start on."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        if self.path == "/_sandbox/health":
            return self._send(200, b"{}", {}, with_body)
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self._send(404, b"", {}, with_body)
        status = path.stat()
        content, tag = path.read_bytes(), f'"{status.st_size}-{status.st_mtime_ns}"'
        start = self._start(len(content))
        headers = {"ETag": tag, "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return self._send(206 if start else 200, content[start:], headers, with_body)

    def _start(self, size: int) -> int:
        unit, _, span = self.headers.get("Range", "").partition("=")
        first = span.partition("-")[0]
        return int(first) if unit == "bytes" and first.isdigit() and int(first) < size else 0

    def _send(self, code: int, body: bytes, headers: dict[str, str], with_body: bool) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


def main() -> int:
    parser = argparse.ArgumentParser("playrunner.sandbox.datasets", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", required=True)
    options = parser.parse_args()
    home = Path(options.port_file).parent
    files = home / FOLDER

    def handler(*words: Any) -> Handler:
        return Handler(*words, directory=str(files))

    server = ThreadingHTTPServer(("127.0.0.1", options.port), handler)
    address = f"http://127.0.0.1:{server.server_port}"
    (home / DECLARED).write_text(json.dumps(stand_ins.make(files, address), indent=1))
    (home / "port.new").write_text(str(server.server_port))
    (home / "port.new").replace(options.port_file)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
