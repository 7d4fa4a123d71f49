"""Sources of data: a web server, or any store of fsspec (s3://, gs://, file://); listed, and read
from any offset."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from trainer.checkpoint.store_upload import check_store, reason
from trainer.errors import BadInput
from trainer.staging.retryable_errors import is_retryable

BLOCK = 1 << 23
ANSWER_SECONDS = 60.0


class Interrupted(Exception):
    """The connection to the source broke; what was received is kept for a retry."""


@dataclass(frozen=True)
class Remote:
    """One file at the source."""

    name: str  # its path below the source
    size: int  # -1 if unknown
    mark: str  # changes when its content does


class Source(Protocol):
    def files(self) -> list[Remote]: ...
    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]: ...


def open_source(address: str, anonymous: bool = False, region: str = "") -> Source:
    protocol, separator, rest = address.partition("://")
    if not separator or "@" in rest.partition("/")[0]:
        raise BadInput(
            "the source is an address without a password, as s3://BUCKET/FOLDER or"
            " https://HOST/FILE.tar"
        )
    if protocol in ("http", "https"):
        return Web(address)
    check_store("--source", address)
    return Store(address, anonymous, region)


class Web:
    """One file of a web server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def files(self) -> list[Remote]:
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.address).path.rpartition("/")[2])
        if not name:
            raise BadInput(
                f"{self.address}: a web server's folder cannot be listed; name the file, an archive"
                " for example"
            )
        with self._answer("HEAD") as response:
            mark = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            return [Remote(name, int(response.headers.get("Content-Length") or -1), mark)]

    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]:
        with self._answer("GET", {"Range": f"bytes={start}-"} if start else {}) as response:
            if start and response.status != 206:  # no range support: skip what we have
                _skip(response, start)
            while block := response.read(BLOCK):
                yield block

    @contextmanager
    def _answer(self, method: str, headers: dict[str, str] | None = None) -> Iterator[Any]:
        request = urllib.request.Request(self.address, method=method, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
                yield response
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in (408, 429):
                raise BadInput(
                    f"{self.address}: the server says {error.code} {error.reason}"
                ) from None
            raise Interrupted(f"the server says {error.code} {error.reason}") from None
        except OSError as error:
            raise Interrupted(str(getattr(error, "reason", error))) from None


class Store:
    """A file, or everything below a folder, of an object store."""

    def __init__(self, address: str, anonymous: bool, region: str) -> None:
        import fsspec

        options: dict[str, Any] = {}
        if address.startswith("s3"):
            options = {
                "anon": anonymous,
                **({"client_kwargs": {"region_name": region}} if region else {}),
            }
        elif anonymous and address.startswith(("gs://", "gcs://")):
            options = {"token": "anon"}
        self.address = address
        self.store, self.base = fsspec.core.url_to_fs(address.rstrip("/"), **options)

    def files(self) -> list[Remote]:
        with self._translated_errors():
            self.store.invalidate_cache()
            listing = self.store.find(self.base, detail=True)
        if not listing:
            raise BadInput(f"{self.address}: no files found")
        above = self.base.rpartition("/")[0] if list(listing) == [self.base] else self.base
        return sorted(
            (
                Remote(path[len(above) :].lstrip("/"), int(info["size"]), _mark(info))
                for path, info in listing.items()
                if not path.endswith("/")
            ),
            key=lambda remote: remote.name,
        )

    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]:
        alone = self.base.rpartition("/")[2] == remote.name and not self.store.isdir(self.base)
        path = self.base if alone else f"{self.base}/{remote.name}"
        with self._translated_errors(), self.store.open(path, "rb", block_size=BLOCK) as file:
            file.seek(start)
            while block := file.read(BLOCK):
                yield block

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (BadInput, Interrupted):
            raise
        except Exception as error:  # every store's library has errors of its own
            if is_retryable(error):
                raise Interrupted(reason(error)) from None
            raise BadInput(f"{self.address}: {reason(error)}") from None


def _mark(info: dict[str, Any]) -> str:
    for name in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "updated"):
        if info.get(name):
            return str(info[name]).strip('"')
    return ""


def _skip(response: Any, count: int) -> None:
    while count > 0:
        block = response.read(min(BLOCK, count))
        if not block:
            return
        count -= len(block)
