"""Files of a web server: one by its address, or those of a folder, which SHA256SUMS lists."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from trainer.errors import BadInput
from trainer.staging.source import BLOCK, CHECKSUMS, Interrupted, Remote, checksums

ANSWER_SECONDS = 60.0
_MOST_LIST = 1 << 24  # bytes of a list of checksums


class Web:
    def __init__(self, address: str, names: Mapping[str, str]) -> None:
        self.address, self.names = address, dict(names)

    def files(self) -> list[Remote]:
        path = urllib.parse.urlsplit(self.address).path
        if not self.names and not path.endswith("/"):
            name = urllib.parse.unquote(path.rpartition("/")[2])
            if not name:
                raise BadInput(f"{self.address}: names no file; a folder ends with /")
            return [self._described(name, self.address, "")]
        names = self.names or self._listed()
        return [
            self._described(name, self._below(name), digest)
            for name, digest in sorted(names.items())
        ]

    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]:
        folder = self.names or urllib.parse.urlsplit(self.address).path.endswith("/")
        address = self._below(remote.name) if folder else self.address
        headers = {"Range": f"bytes={start}-"} if start else {}
        with _answer("GET", address, headers) as response:
            if start and response.status != 206:  # no range support: skip what we have
                _skip(response, start)
            while block := response.read(BLOCK):
                yield block

    def _listed(self) -> dict[str, str]:
        address = self._below(CHECKSUMS)
        try:
            with _answer("GET", address) as response:
                text = response.read(_MOST_LIST).decode(errors="replace")
        except _Refused as error:
            raise BadInput(
                f"{error}: a web server's folder is listed by its {CHECKSUMS} (sha256sum * >"
                f" {CHECKSUMS}); else name one file, an archive for example"
            ) from None
        names = checksums(text, address)
        if not names:
            raise BadInput(f"{address}: lists no file")
        return names

    def _described(self, name: str, address: str, digest: str) -> Remote:
        try:
            with _answer("HEAD", address) as response:
                return _remote(name, response, response.headers.get("Content-Length"), digest)
        except _Refused as error:
            if error.code not in (403, 405, 501):  # a signed address may be for GET alone
                raise
        with _answer("GET", address, {"Range": "bytes=0-0"}) as response:
            given = response.headers.get("Content-Range", "").rpartition("/")[2]
            size = given if response.status == 206 else response.headers.get("Content-Length")
            return _remote(name, response, size, digest)

    def _below(self, name: str) -> str:
        return f"{self.address.rstrip('/')}/{urllib.parse.quote(name)}"


class _Refused(BadInput):
    """The server answers, and refuses."""

    def __init__(self, address: str, code: int, reason: str) -> None:
        plain = address.partition("?")[0]  # what a signed address is signed with is a secret
        super().__init__(f"{plain}: the server says {code} {reason}")
        self.code = code


def _remote(name: str, response: Any, size: str | None, digest: str) -> Remote:
    mark = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
    return Remote(name, int(size) if size and size.isdigit() else -1, mark, digest)


@contextmanager
def _answer(method: str, address: str, headers: dict[str, str] | None = None) -> Iterator[Any]:
    request = urllib.request.Request(address, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
            yield response
    except urllib.error.HTTPError as error:
        if error.code < 500 and error.code not in (408, 429):
            raise _Refused(address, error.code, str(error.reason)) from None
        raise Interrupted(f"the server says {error.code} {error.reason}") from None
    except OSError as error:
        raise Interrupted(str(getattr(error, "reason", error))) from None


def _skip(response: Any, count: int) -> None:
    while count > 0:
        block = response.read(min(BLOCK, count))
        if not block:
            return
        count -= len(block)
