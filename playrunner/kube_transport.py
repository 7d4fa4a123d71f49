"""Requests to one API server over connections that stay open; what goes wrong on the way is told apart from what it refuses.

Written over http.client: the libraries people use instead take longer to import than a run takes that has nothing to do.
"""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import tempfile
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playrunner.errors import BadInput, HostUnreachable
from playrunner.kube_config import Access

CONNECTIONS, LOCAL_CONNECTIONS = 16, 6  # a server on this machine shares its processors with us
CONNECT_SECONDS, READ_SECONDS = 10.0, 75.0


class NotReached(Exception):
    """The server could not even be asked."""


class NoAnswer(Exception):
    """The connection broke before the answer came."""


class Transport:
    """Connections to one API server."""

    def __init__(self, access: Access, address: str = "") -> None:
        """`address` is where it is really reached (a tunnel's end), when that is not what the kubeconfig says."""
        split = urlsplit(access.server)
        self.access, self.context = access, _tls(access) if split.scheme == "https" else None
        self.host, self.port = split.hostname or "", split.port or (443 if self.context else 80)
        self.server_name, self._home = access.server_name or self.host, split.path.rstrip("/")
        self._authority = split.netloc
        if address:
            self.host, _, port = address.rpartition(":")
            self.port = int(port)
        local = self.host.startswith("127.") or self.host in ("localhost", "::1")
        self.most = LOCAL_CONNECTIONS if local and not address else CONNECTIONS
        self._packed = not local
        self._proxy = access.proxy or ("" if local else _proxy(split.scheme, self.host))
        self._idle: list[http.client.HTTPConnection] = []
        self._lock, self._room = threading.Lock(), threading.Semaphore(self.most)

    def send(self, method: str, path: str, query: Mapping[str, Any], body: Any = None,
             content_type: str = "application/json") -> tuple[int, http.client.HTTPMessage, bytes]:
        """One request, one answer: status, headers and body."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        headers = self.headers({"Content-Type": content_type} if data is not None else {})
        with self._room:
            connection = self._taken()
            try:
                answer = self._asked(connection, method, self._target(path, query), data, headers)
                found = answer.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                raise NoAnswer(_reason(error)) from None
            except BaseException:
                connection.close()
                raise
            if answer.will_close:
                connection.close()
            else:
                with self._lock:
                    self._idle.append(connection)
        packed = answer.getheader("Content-Encoding") == "gzip"
        return answer.status, answer.headers, zlib.decompress(found, 31) if packed else found

    def stream(self, path: str, query: Mapping[str, Any], silence: float) -> Stream:
        """An answer that goes on: it is read as it comes, and ends when nothing came for `silence` seconds."""
        connection = self.connection(silence)
        headers = {key: value for key, value in self.headers({}).items() if key != "Accept-Encoding"}
        try:
            return Stream(connection, self._asked(connection, "GET", self._target(path, query), None, headers))
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise NoAnswer(_reason(error)) from None

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        found = {"Host": self._authority, "Accept": "application/json", "User-Agent": "playrunner", **more}
        if self._packed:
            found["Accept-Encoding"] = "gzip"
        authorization = self.access.credentials.authorization()
        return {**found, "Authorization": authorization} if authorization else found

    def connection(self, seconds: float = READ_SECONDS) -> http.client.HTTPConnection:
        """A new one, open."""
        made = _Connection(self.host, self.port, self.context, self.server_name, self._proxy)
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise HostUnreachable(f"{self.access.server}: its certificate is not the one the kubeconfig expects:"
                                  f" {error.verify_message}; make the kubeconfig anew, or check that this is the right cluster"
                                  ) from None
        except (http.client.HTTPException, OSError) as error:
            raise NotReached(_reason(error)) from None
        assert made.sock
        made.sock.settimeout(seconds)
        return made

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _taken(self) -> http.client.HTTPConnection:
        """An idle connection that the server has not ended meanwhile, or a new one."""
        while True:
            with self._lock:
                one = self._idle.pop() if self._idle else None
            if one is None:
                return self.connection()
            if one.sock is not None and not _ended(one.sock):
                return one
            one.close()

    def _asked(self, connection: http.client.HTTPConnection, method: str, target: str, data: bytes | None,
               headers: Mapping[str, str]) -> http.client.HTTPResponse:
        connection.request(method, target, data, dict(headers))
        return connection.getresponse()

    def _target(self, path: str, query: Mapping[str, Any]) -> str:
        given = urlencode({name: value for name, value in query.items() if value not in ("", None)})
        return f"{self._home}{path}{f'?{given}' if given else ''}"


class _Connection(http.client.HTTPConnection):
    """Verifies the name that the certificate must carry, wherever the connection really leads."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, name: str, proxy: str) -> None:
        split = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
        super().__init__(split.hostname or host if split else host, (split.port or 80) if split else port,
                         timeout=CONNECT_SECONDS)
        if split:
            self.set_tunnel(host, port)
        self._context, self._name = context, name

    def connect(self) -> None:
        super().connect()
        if self._context:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)


class Stream:
    """Lines of an answer that goes on, until it ends or is closed."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        # An answer after which the server closes takes the socket with it.
        self._connection, self._answer, self._socket = connection, answer, _socket_of(connection, answer)
        self.status = answer.status

    def all(self) -> bytes:
        try:
            return self._answer.read()
        except (http.client.HTTPException, OSError):
            return b""

    def lines(self) -> Iterator[bytes]:
        rest = b""
        try:
            while piece := self._answer.read1(65536):
                *whole, rest = (rest + piece).split(b"\n")
                yield from (line for line in whole if line)
            if rest:
                yield rest
        except (http.client.HTTPException, OSError, ValueError, AttributeError):
            return  # it dropped, or was closed meanwhile: whoever reads goes on from the last line
        finally:
            self.close()

    def close(self) -> None:
        """Also wakes whoever waits for the next line."""
        try:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._connection.close()


def _ended(sock: socket.socket) -> bool:
    """An idle connection has nothing to say but its end."""
    poll = select.poll()  # unlike select, it takes descriptors of any number
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _socket_of(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> Any:
    return connection.sock or getattr(getattr(answer.fp, "raw", None), "_sock", None)


def _tls(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.authority.decode() or None)
        # Authorities that clusters make for themselves often lack what strict checking asks for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not access.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        certificate, key = access.certificate, access.key
        if not certificate:
            certificate, key = access.credentials.certificate()
        if certificate:
            with tempfile.TemporaryDirectory(prefix="playrunner-") as folder:  # for its owner's eyes only
                file = Path(folder) / "client.pem"
                file.write_bytes(certificate + b"\n" + key)
                context.load_cert_chain(file)
    except (ssl.SSLError, ValueError) as error:
        raise BadInput(f"the certificates of the context {access.name} cannot be used: {error}") from None
    return context


def _proxy(scheme: str, host: str) -> str:
    from urllib.request import getproxies, proxy_bypass

    return "" if proxy_bypass(host) else getproxies().get(scheme, "")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
