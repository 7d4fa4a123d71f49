"""An admission webhook to be called: HTTPS on loopback, with an answer made beforehand."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.wire import certificates


class Webhook:
    """Listens while it is open; keeps what it was asked."""

    def __init__(
        self, *, allowed: bool = True, message: str = "", patch: list[dict[str, Any]] | None = None
    ) -> None:
        self.asked: list[dict[str, Any]] = []
        self._response: dict[str, Any] = {"allowed": allowed}
        if message:
            self._response["status"] = {"message": message}
        if patch:
            self._response |= {
                "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
            }

    def __enter__(self) -> Webhook:
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook.asked.append(review)
                response = {**webhook._response, "uid": review["request"]["uid"]}
                body = json.dumps(
                    {
                        "apiVersion": review["apiVersion"],
                        "kind": "AdmissionReview",
                        "response": response,
                    }
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            certificates.authority(folder).issue("hook")
            self.authority = base64.b64encode((folder / "ca.crt").read_bytes()).decode()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / "hook.crt", folder / "hook.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}/review"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
