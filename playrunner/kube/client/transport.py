"""Requests to one API server over connections that stay open; connection errors and
refusals are different errors.

Written over http.client: the libraries people use instead take longer to import than a run takes
that has nothing to do.
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

from playrunner.errors import BadInput, HostUnreachable, Place
from playrunner.kube.client.config import Access
from playrunner.kube.client.wire import Connection, Response
from playrunner.text import answers
from playrunner.text.answers import BadAnswer

CONNECTIONS, LOCAL_CONNECTIONS = 16, 6  # a server on this machine shares its processors with us
READ_SECONDS = 75.0


class NotReached(Exception):
    """The server could not even be asked."""


class NoAnswer(Exception):
    """The connection broke before the answer came."""


class Transport:
    """Connections to one API server."""

    def __init__(self, access: Access, address: str = "") -> None:
        """`address` is where it is really reached (a tunnel's end), when that is not what the
        kubeconfig says."""
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

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Any = None,
        content_type: str = "application/json",
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """One request, one answer: status, headers and body."""
        data = (
            body
            if body is None or isinstance(body, bytes)
            else json.dumps(body, separators=(",", ":")).encode()
        )
        headers = self.headers({"Content-Type": content_type} if data is not None else {})
        source = self.source(path)
        with self._room:
            connection = self._taken()
            try:
                answer = self._asked(connection, method, self._target(path, query), data, headers)
                body_read = answers.gathered(answer.read, source)
                if answer.length:  # read piece by piece, one that is cut off says nothing of it
                    raise http.client.IncompleteRead(body_read, answer.length)
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
        return answer.status, answer.headers, _unpacked(body_read, source) if packed else body_read

    def source(self, path: str) -> str:
        """Who answers, for messages."""
        return answers.shown(f"{self.access.server}{path}")

    def stream(self, path: str, query: Mapping[str, Any], silence: float) -> Stream:
        """An answer that goes on: it is read as it comes, and ends when nothing came for `silence`
        seconds."""
        connection = self.connection(silence)
        headers = {
            key: value for key, value in self.headers({}).items() if key != "Accept-Encoding"
        }
        try:
            answer = self._asked(connection, "GET", self._target(path, query), None, headers)
            return Stream(connection, answer.endless() if answer.status == 200 else answer)
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            raise NoAnswer(_reason(error)) from None

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        headers = {
            "Host": self._authority,
            "Accept": "application/json",
            "User-Agent": "playrunner",
            **more,
        }
        if self._packed:
            headers["Accept-Encoding"] = "gzip"
        authorization = self.access.credentials.authorization()
        return {**headers, "Authorization": authorization} if authorization else headers

    def connection(self, seconds: float = READ_SECONDS) -> http.client.HTTPConnection:
        """A new one, open."""
        made = Connection(self.host, self.port, self.context, self.server_name, self._proxy)
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise HostUnreachable(
                f"{self.access.server}: its certificate is not the one the kubeconfig expects:"
                f" {error.verify_message}; write the kubeconfig again, or check that this is the"
                " right cluster"
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
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.connection()
            if connection.sock is not None and not _ended(connection.sock):
                return connection
            connection.close()

    def _asked(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        data: bytes | None,
        headers: Mapping[str, str],
    ) -> Response:
        connection.request(method, target, data, dict(headers))
        answer = connection.getresponse()
        assert isinstance(answer, Response)
        return answer

    def _target(self, path: str, query: Mapping[str, Any]) -> str:
        given = urlencode({name: value for name, value in query.items() if value not in ("", None)})
        return f"{self._home}{path}{f'?{given}' if given else ''}"


class Stream:
    """Lines of an answer that goes on, until it ends or is closed."""

    def __init__(
        self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
    ) -> None:
        # An answer after which the server closes takes the socket with it.
        self._connection, self._answer, self._socket = (
            connection,
            answer,
            _socket_of(connection, answer),
        )
        self.status = answer.status

    def all(self) -> bytes:
        try:
            return answers.gathered(self._answer.read, "the API server")
        except (http.client.HTTPException, OSError, BadAnswer):
            return b""

    def lines(self, whole: bool = False) -> Iterator[bytes]:
        """With `whole`, only those that came to their end: a connection may break in the middle of
        one."""
        rest = bytearray()
        try:
            while piece := self._answer.read1(65536):
                *ended, last = piece.split(b"\n")
                if ended:
                    ended[0], rest = bytes(rest + ended[0]), bytearray()
                rest += last
                if len(rest) > answers.MOST_BYTES:
                    raise BadAnswer(
                        f"the API server sent a line of more than {answers.MOST_BYTES >> 20} MiB"
                    )
                yield from (line for line in ended if line)
            if rest and not whole:
                yield bytes(rest)
        except (http.client.HTTPException, OSError, ValueError, AttributeError):
            return  # the connection broke or was closed: the reader goes on from the last line
        finally:
            self.close()

    def close(self) -> None:
        """Also ends a read that waits for the next line."""
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


def _unpacked(data: bytes, source: str) -> bytes:
    """The answer without its compression, up to the size that an answer may have."""
    unpacking = zlib.decompressobj(31)
    try:
        unpacked = unpacking.decompress(data, answers.MOST_BYTES)
    except zlib.error as error:
        raise BadAnswer(f"{source} answered what it calls gzip and is not: {error}") from None
    if unpacking.unconsumed_tail:
        raise BadAnswer(f"{source} answered more than {answers.MOST_BYTES >> 20} MiB")
    if not unpacking.eof:
        raise BadAnswer(f"{source} answered half of a gzip stream")
    return unpacked


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
            with tempfile.TemporaryDirectory(
                prefix="playrunner-"
            ) as folder:  # for its owner's eyes only
                file = Path(folder) / "client.pem"
                file.write_bytes(certificate + b"\n" + key)
                context.load_cert_chain(file, password="")  # one is never asked for at the terminal
    except (ssl.SSLError, ValueError) as error:
        raise BadInput(
            f"the certificates of the context {access.name} cannot be used: {error}",
            Place(access.file) if access.file else None,
        ) from None
    return context


def _proxy(scheme: str, host: str) -> str:
    from urllib.request import getproxies, proxy_bypass

    return "" if proxy_bypass(host) else getproxies().get(scheme, "")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
