"""A plain HTTP client of any Kubernetes API that a kubeconfig names: nothing between the test and
the wire."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    code: int
    value: Any
    headers: dict[str, str]

    @property
    def reason(self) -> str:
        return str(self.value.get("reason", "")) if isinstance(self.value, dict) else ""

    @property
    def message(self) -> str:
        return (
            str(self.value.get("message", "")) if isinstance(self.value, dict) else str(self.value)
        )


class Client:
    """One API, with or without its token."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.token = config["users"][0]["user"]["token"]
        self.tls = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
        )

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        form: str = "application/json",
        accept: str = "application/json",
        token: str | None = None,
        **query: Any,
    ) -> Answer:
        connection = self._connect(30)
        try:
            reply = self._ask(connection, method, path, body, form, accept, token, query)
            text = reply.read()
            value = (
                json.loads(text)
                if "json" in reply.headers.get("Content-Type", "")
                else text.decode(errors="replace")
            )
            joined = {name: ", ".join(reply.headers.get_all(name) or ()) for name in reply.headers}
            return Answer(reply.status, value, joined)
        finally:
            connection.close()

    def ok(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The value of an answer that must be good."""
        answer = self.call(method, path, body, **options)
        assert answer.code < 300, f"{method} {path}: {answer.code} {answer.message}"
        return answer.value

    def watch(self, path: str, seconds: int = 10, **query: Any) -> Iterator[dict[str, Any]]:
        """Events, until the server ends the watch."""
        connection = self._connect(seconds + 20)
        try:
            query = {"watch": "true", "timeoutSeconds": seconds, **query}
            reply = self._ask(
                connection, "GET", path, None, "application/json", "application/json", None, query
            )
            assert reply.status == 200, reply.read()
            rest = b""
            while piece := reply.read1():  # unlike a line, a piece that breaks off is an error
                *lines, rest = (rest + piece).split(b"\n")
                yield from map(json.loads, filter(None, lines))
        finally:
            connection.close()

    def _connect(self, seconds: float) -> http.client.HTTPSConnection:
        parts = urlsplit(self.server)
        assert parts.hostname
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=seconds, context=self.tls
        )

    def _ask(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: Any,
        form: str,
        accept: str,
        token: str | None,
        query: dict[str, Any],
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept, "User-Agent": "conformance/1"}
        token = self.token if token is None else token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = form
        connection.request(
            method, f"{path}?{urlencode(query, doseq=True)}" if query else path, data, headers
        )
        return connection.getresponse()
