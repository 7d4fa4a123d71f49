"""A small client of one Kubernetes API: requests over kept connections, and watches that come line
by line."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from playrunner.sandbox.kube.controllers.framework.resources import Object

ANSWER_SECONDS = 30.0
WATCH_SECONDS = 240  # then the server ends the watch, and it is taken up again
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """The API refused."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason, self.message = code, reason, message

    @property
    def passes(self) -> bool:
        """Whether a new look is enough: the object was changed or deleted meanwhile."""
        return self.code in (404, 409) or (
            self.code == 403 and "because it is being terminated" in self.message
        )


class Unreachable(Exception):
    """No answer came; whether the request was heard is unknown."""


class Stop:
    """Ends a watch from another thread, or one that is about to begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._socket: socket.socket | None = None

    def set(self) -> None:
        with self._lock:
            self._is_set = True
            if self._socket is not None:
                with suppress(OSError):  # the server ended the watch meanwhile
                    self._socket.shutdown(socket.SHUT_RDWR)

    @property
    def is_set(self) -> bool:
        return self._is_set

    def ends(self, watched: socket.socket) -> None:
        with self._lock:
            self._socket = watched
        if self._is_set:
            raise Unreachable("the watch is not wanted any more")


class Api:
    """One API server, as a kubeconfig names it; any number of threads may use it."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self._token = config["users"][0]["user"]["token"]
        self._tls = ssl.create_default_context(
            cadata=base64.b64decode(cluster["certificate-authority-data"]).decode()
        )
        parts = urlsplit(cluster["server"])
        self.server = str(cluster["server"])
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 443
        self._kept = threading.local()

    def call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        form: str = "application/json",
        **query: Any,
    ) -> Any:
        """The answer's value; ApiError when refused, Unreachable when there is none."""
        connection = self._connection()
        try:
            self._send(connection, method, path, body, form, query)
            reply = connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise Unreachable(f"{method} {path}: {error!r}") from error
        if reply.will_close:
            self._drop()
        return _checked(reply.status, text)

    def watch(self, path: str, version: str, stop: Stop) -> Iterator[Object]:
        """Events since a version, until the server ends the watch or `stop` is set."""
        connection = self._open(WATCH_SECONDS + ANSWER_SECONDS)
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": WATCH_SECONDS,
        }
        try:
            self._send(connection, "GET", path, None, "", query)
            stop.ends(connection.sock)
            reply = connection.getresponse()
            if reply.status != 200:
                _checked(reply.status, reply.read())
            while line := reply.readline():
                yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"watch of {path}: {error!r}") from error
        finally:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        body: Object | None,
        form: str,
        query: Object,
    ) -> None:
        headers = {
            "Accept": "application/json",
            "User-Agent": "sandbox-controllers",
            "Authorization": f"Bearer {self._token}",
        }
        if body is not None:
            headers["Content-Type"] = form
        target = f"{path}?{urlencode(query, doseq=True)}" if query else path
        connection.request(
            method, target, None if body is None else json.dumps(body).encode(), headers
        )

    def _connection(self) -> http.client.HTTPSConnection:
        if getattr(self._kept, "connection", None) is None:
            self._kept.connection = self._open(ANSWER_SECONDS)
        found: http.client.HTTPSConnection = self._kept.connection
        return found

    def _drop(self) -> None:
        self._kept.connection.close()
        self._kept.connection = None

    def _open(self, seconds: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=seconds, context=self._tls
        )


def _checked(code: int, text: bytes) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        value = {"message": text.decode(errors="replace")}
    if code >= 300:
        said = value if isinstance(value, dict) else {}
        raise ApiError(code, str(said.get("reason", "")), str(said.get("message", value)))
    return value
