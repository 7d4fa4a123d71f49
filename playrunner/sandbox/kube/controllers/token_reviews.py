"""Who a token belongs to, for a real API server that does not know it: it asks here, and hears of
the pretend clouds' tokens."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.http.cloud_tokens import CloudTokens

ADDRESS = "127.0.0.1"


def start(folder: Path) -> None:
    """Listen on the port that the API server is configured with; do nothing where it has none."""
    port = folder / "token-review-port"
    if port.exists():
        server = _Server(folder, int(port.read_text()))
        threading.Thread(target=server.serve_forever, name="token-reviews", daemon=True).start()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path, port: int) -> None:
        self.clouds = CloudTokens(folder.parent)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.tls.load_verify_locations(folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_REQUIRED
        super().__init__((ADDRESS, port), _Review)

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # no certificate of ours
        with secured:
            _Review(secured, client_address, self)


class _Review(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        known = self.server.clouds.knows(str(review["spec"].get("token", "")))
        user = {
            "username": "sandbox-cloud-user",
            "uid": "sandbox-cloud-user",
            "groups": ["system:masters"],
        }
        status: dict[str, Any] = (
            {"authenticated": True, "user": user} if known else {"authenticated": False}
        )
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: a token must not get into a log."""
