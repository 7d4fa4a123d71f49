"""The HTTPS server behind a webhook."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.operators.reviews import ReviewAnswer, ReviewRequest, response_of

Judge = Callable[[ControllerContext, ReviewRequest], ReviewAnswer]


class Listener(ThreadingHTTPServer):
    """Serves for one pod: each path has its judge."""

    daemon_threads = True

    def __init__(
        self,
        context: ControllerContext,
        judges: dict[str, Judge],
        address: tuple[str, int],
        folder: Path,
    ) -> None:
        """`folder` has tls.crt and tls.key."""
        self.context, self.judges = context, judges
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        # Only the API server asks: it shows the certificate that the cluster's authority gave it.
        self.tls.load_verify_locations(context.folder / "ca.crt")
        self.tls.verify_mode = ssl.CERT_REQUIRED
        super().__init__(address, _Handler)

    def start(self) -> None:
        threading.Thread(
            target=self.serve_forever, name=f"webhooks-{self.server_port}", daemon=True
        ).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secured = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # not the API server, or it does not trust us
        with secured:
            _Handler(secured, client_address, self)


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.close_connection = True
        review = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        judge = self.server.judges.get(self.path.partition("?")[0])
        body = (
            json.dumps(
                response_of(review, judge(self.server.context, ReviewRequest.of(review)))
            ).encode()
            if judge
            else b"{}"
        )
        self.send_response(200 if judge else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""
