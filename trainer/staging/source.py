"""Sources of data: a web server, any store of fsspec (s3://, gs://, hf://, file://), or a folder at
the other end of this program's input; listed, and read from any offset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from trainer.checkpoint.store_upload import check_store
from trainer.errors import BadInput
from trainer.frozen import frozen

BLOCK = 1 << 23
PIPE = "pipe:"  # the address of what is sent to this program's input
CHECKSUMS = "SHA256SUMS"  # as sha256sum writes it; lists a web server's folder


class Interrupted(Exception):
    """The connection to the source broke; what was received is kept for a retry."""

    def __init__(self, message: str, final: bool = False) -> None:
        super().__init__(message)
        self.final = final  # asking again from here is of no use


@frozen
class Remote:
    """One file at the source."""

    name: str  # its path below the source
    size: int  # -1 if unknown
    mark: str  # changes when its content does
    sha256: str = ""  # of its content, if known beforehand


class Source(Protocol):
    def files(self) -> list[Remote]: ...
    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]: ...


def open_source(
    address: str,
    anonymous: bool = False,
    region: str = "",
    names: Mapping[str, str] | None = None,
) -> Source:
    """`names`: only these files of the folder at the address, with the SHA-256 of each if known."""
    if address.startswith(PIPE):
        from trainer.staging.pipe import Pipe

        return Pipe()
    protocol, separator, rest = address.partition("://")
    if not separator or "@" in rest.partition("/")[0]:
        raise BadInput(
            "the source is an address without a password, as s3://BUCKET/FOLDER or"
            " https://HOST/FILE.tar"
        )
    if protocol in ("http", "https"):
        from trainer.staging.web import Web

        return Web(address, names or {})
    check_store("--source", address)
    from trainer.staging.store import Store

    return Store(address, anonymous, region, names or {})


def checksums(text: str, where: str) -> dict[str, str]:
    """The files of a list as sha256sum writes it, with their checksums."""
    files = {}
    for number, line in enumerate(text.splitlines(), 1):
        digest, _, name = line.strip().partition(" ")
        if not line.strip():
            continue
        if not is_sha256(digest) or not name.strip(" *"):
            raise BadInput(f"{where}:{number}: not a line of sha256sum: {line[:80]!r}")
        files[name.strip().removeprefix("*").removeprefix("./")] = digest.lower()
    return files


def is_sha256(text: str) -> bool:
    return len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")
