"""Files the controller sends to hosts, addressed by content: each is sent where it is missing."""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.text.vault import is_vault, refuse_vault

INLINE_BYTES = 4096  # a file this small travels with its step; asking for it would cost more


class FileUploads:
    """Every file a run may send; shared by all hosts, so each is read, hashed and packed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._paths: dict[str, Path] = {}
        self._packed: dict[str, tuple[bool, bytes]] = {}
        self._vaults: set[str] = set()  # those encrypted with ansible-vault

    def of(
        self,
        path: Path,
        trailing_slash: bool = False,
        encrypted: bool = False,
        follow: bool = True,
    ) -> dict[str, Any]:
        """Describe the file or folder for the host; a vault file is refused unless `encrypted`.
        With `follow`, links in a folder count as what they point to."""
        if path.is_dir():
            return {
                "name": path.name,
                "folder": True,
                "trailing_slash": trailing_slash,
                "files": [
                    self._entry(path, child, encrypted, follow)
                    for child in _below(path, follow, (path.resolve(),))
                ],
            }
        return {"name": path.name, **self._file(path, encrypted)}

    def packed(self, sha1: str) -> tuple[bool, bytes]:
        """The bytes of a file, and whether they are compressed."""
        with self._lock:
            if sha1 not in self._packed:
                data = self._content(sha1)
                small = zlib.compress(data, 1)
                self._packed[sha1] = (
                    (True, small) if len(small) < 0.9 * len(data) else (False, data)
                )
            return self._packed[sha1]

    def _content(self, sha1: str) -> bytes:
        path = self._paths.get(sha1)
        if path is None:
            raise StepFailed("the host asks for a file that no step of this run sends")
        try:
            return path.read_bytes()
        except OSError as error:
            raise StepFailed(f"{path} cannot be read any more: {error.strerror}") from None

    def _file(self, path: Path, encrypted: bool) -> dict[str, Any]:
        try:
            status = path.stat()
            with self._lock:
                key = (str(path), status.st_mtime_ns, status.st_size)
                if key not in self._made:
                    self._made[key] = self._describe(path, status.st_mode)
                description = self._made[key]
            if description["sha1"] in self._vaults and not encrypted:
                refuse_vault(path.read_bytes(), path)
            return description
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}") from None

    def _describe(self, path: Path, mode: int) -> dict[str, Any]:
        data = path.read_bytes()
        sha1 = hashlib.sha1(data).hexdigest()
        if is_vault(data):
            self._vaults.add(sha1)
        self._paths[sha1] = path
        description = {"sha1": sha1, "size": len(data), "mode": f"{mode & 0o7777:04o}"}
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


def _below(folder: Path, follow: bool, chain: tuple[Path, ...]) -> Iterator[Path]:
    """What is in a folder and below; a link back to a folder of the chain is not entered."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and (follow or not path.is_symlink()):
            target = path.resolve()
            if target not in chain:
                yield from _below(path, follow, (*chain, target))
