"""Files the controller sends to hosts, addressed by content: each is sent where it is missing."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.text.written import DecryptedText
from playrunner.vault.envelope import is_encrypted

INLINE_BYTES = 4096  # a file this small travels with its step; asking for it would cost more
# A file larger than this is read piece by piece for each host, and never held whole
LARGE_BYTES = 16 << 20


class FileUploads:
    """Every file a run may send; shared by all hosts, so each is read, hashed and packed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[str, int, int, bool], dict[str, Any]] = {}
        # And whether the file is decrypted with vault
        self._paths: dict[str, tuple[Path, bool]] = {}
        self._packed: dict[str, tuple[bool, bytes]] = {}
        self._large: dict[str, tuple[Path, int]] = {}

    def of(
        self,
        path: Path,
        trailing_slash: bool = False,
        encrypted: bool = False,
        follow: bool = True,
    ) -> dict[str, Any]:
        """Describe the file or folder for the host; an encrypted file is decrypted, or with
        `encrypted` sent as it is. With `follow`, links in a folder count as what they point to."""
        if path.is_dir():
            files = [
                self._entry(path, child, encrypted, follow)
                for child in _below(path, follow, (path.resolve(),))
            ]
            return {
                "name": path.name,
                "folder": True,
                "trailing_slash": trailing_slash,
                "files": files,
                **({"secret": True} if any("secret" in file for file in files) else {}),
            }
        return {"name": path.name, **self._file(path, encrypted)}

    def of_bytes(self, data: bytes, packed: bool = False) -> dict[str, Any]:
        """Describe bytes that are in no file; `packed` says that compressing gains nothing."""
        sha1 = hashlib.sha1(data).hexdigest()
        with self._lock:
            if sha1 not in self._packed:
                self._packed[sha1] = (False, data) if packed else (True, zlib.compress(data, 1))
        return {"sha1": sha1, "size": len(data)}

    def large_file(self, sha1: str) -> tuple[Path, int] | None:
        """The path and size of a file that is too large to be held in memory."""
        with self._lock:
            return self._large.get(sha1)

    def packed(self, sha1: str) -> tuple[bool, bytes]:
        """The bytes of a file, and whether they are compressed."""
        with self._lock:
            if sha1 not in self._packed:
                data = self.content(sha1)
                small = zlib.compress(data, 1)
                self._packed[sha1] = (
                    (True, small) if len(small) < 0.9 * len(data) else (False, data)
                )
            return self._packed[sha1]

    def content(self, sha1: str) -> bytes:
        """The bytes of a file that is not large."""
        if sha1 not in self._paths:
            raise StepFailed("the host asks for a file that no step of this run sends")
        path, is_secret = self._paths[sha1]
        try:
            data = path.read_bytes()
            return _decrypted(data, path) if is_secret else data
        except OSError as error:
            raise StepFailed(f"{path} cannot be read any more: {error.strerror}") from None

    def _file(self, path: Path, encrypted: bool) -> dict[str, Any]:
        try:
            status = path.stat()
            with self._lock:
                key = (str(path), status.st_mtime_ns, status.st_size, encrypted)
                if key not in self._made:
                    self._made[key] = self._describe(path, status.st_mode, encrypted)
                return self._made[key]
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}") from None

    def _describe(self, path: Path, mode: int, encrypted: bool) -> dict[str, Any]:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGE_BYTES and (encrypted or not is_encrypted(file.read(INLINE_BYTES))):
                file.seek(0)
                sha1 = hashlib.file_digest(file, "sha1").hexdigest()
                self._large[sha1] = path, size
                return {"sha1": sha1, "size": size, "mode": f"{mode & 0o7777:04o}"}
        data = path.read_bytes()
        is_secret = not encrypted and is_encrypted(data)
        if is_secret:
            data = _decrypted(data, path)
        sha1 = hashlib.sha1(data).hexdigest()
        self._paths[sha1] = path, is_secret
        description = {"sha1": sha1, "size": len(data), "mode": f"{mode & 0o7777:04o}"}
        if is_secret:
            description["secret"] = True
        if len(data) <= INLINE_BYTES:
            description["text"] = data.decode("latin-1")
        return description

    def _entry(self, folder: Path, path: Path, encrypted: bool, follow: bool) -> dict[str, Any]:
        relative = str(path.relative_to(folder))
        if path.is_symlink() and not follow:
            return {"path": relative, "kind": "link", "target": str(path.readlink())}
        if path.is_dir():
            return {
                "path": relative,
                "kind": "directory",
                "mode": f"{path.stat().st_mode & 0o7777:04o}",
            }
        return {"path": relative, "kind": "file", **self._file(path, encrypted)}


def is_secret_source(arguments: dict[str, Any]) -> bool:
    """Whether a step sends what was encrypted, so that no diff of it may be shown."""
    return any(
        isinstance(value, DecryptedText)
        or (isinstance(value, dict) and value.get("secret") is True)
        for value in arguments.values()
    )


def offered_files(value: Any) -> Iterator[tuple[str, int]]:
    """The hashes and sizes of the files in a request's arguments."""
    if isinstance(value, dict):
        if isinstance(value.get("sha1"), str):
            size = value.get("size")
            yield value["sha1"], size if isinstance(size, int) else 0
        for inner in value.values():
            yield from offered_files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from offered_files(inner)


def _decrypted(data: bytes, path: Path) -> bytes:
    from playrunner.vault.vault import decrypted_bytes

    return decrypted_bytes(data, path)


def _below(folder: Path, follow: bool, chain: tuple[Path, ...]) -> Iterator[Path]:
    """What is in a folder and below; a link back to a folder of the chain is not entered."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and (follow or not path.is_symlink()):
            target = path.resolve()
            if target not in chain:
                yield from _below(path, follow, (*chain, target))
