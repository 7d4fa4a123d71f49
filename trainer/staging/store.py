"""A file, or everything below a folder, of an object store or a Hugging Face data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from trainer.checkpoint.store_upload import reason
from trainer.errors import BadInput
from trainer.staging.retryable_errors import is_retryable
from trainer.staging.source import BLOCK, Interrupted, Remote, is_sha256


class Store:
    def __init__(
        self, address: str, anonymous: bool, region: str, names: Mapping[str, str]
    ) -> None:
        import fsspec

        options: dict[str, Any] = {}
        if address.startswith("s3"):
            options = {
                "anon": anonymous,
                **({"client_kwargs": {"region_name": region}} if region else {}),
            }
        elif anonymous and address.startswith(("gs://", "gcs://")):
            options = {"token": "anon"}
        self.address, self.names = address, dict(names)
        self.store, self.base = fsspec.core.url_to_fs(address.rstrip("/"), **options)

    def files(self) -> list[Remote]:
        with self._translated_errors():
            self.store.invalidate_cache()
            if self.names:
                return [
                    _remote(name, self.store.info(f"{self.base}/{name}"), digest)
                    for name, digest in sorted(self.names.items())
                ]
            listing = self.store.find(self.base, detail=True)
        if not listing:
            raise BadInput(f"{self.address}: no files found")
        above = self.base.rpartition("/")[0] if list(listing) == [self.base] else self.base
        return sorted(
            (
                _remote(path[len(above) :].lstrip("/"), info, "")
                for path, info in listing.items()
                if not path.endswith("/")
            ),
            key=lambda remote: remote.name,
        )

    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]:
        alone = (
            not self.names
            and self.base.rpartition("/")[2] == remote.name
            and not self.store.isdir(self.base)
        )
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


def _remote(name: str, info: dict[str, Any], digest: str) -> Remote:
    large = info.get("lfs")  # a hub names the checksum of what it keeps as large files
    known = str(
        getattr(large, "sha256", "") or (large.get("sha256", "") if isinstance(large, dict) else "")
    )
    return Remote(
        name, int(info["size"]), _mark(info), digest or (known if is_sha256(known) else "")
    )


def _mark(info: dict[str, Any]) -> str:
    for name in ("ETag", "etag", "md5Hash", "blob_id", "mtime", "LastModified", "updated"):
        if info.get(name):
            return str(info[name]).strip('"')
    return ""
