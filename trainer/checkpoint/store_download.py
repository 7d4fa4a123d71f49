"""Checkpoints taken back from an object store: only complete ones, and under their name only once
they are verified."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from trainer.checkpoint.manifest import MARKER, damage, put_in_place
from trainer.checkpoint.store_upload import reason
from trainer.errors import BadInput

_AT_ONCE = 8  # files on their way; a store gives one stream only a part of what it gives a machine
Say = Callable[[str], None]


def fetch(address: str, folder: Path, say: Say) -> Path:
    """The checkpoint at an address, or the newest complete one of the run there, brought into a
    folder."""
    store = _Store(f"checkpoint.resume {address}", address)
    if store.read("", MARKER) is None:
        found = store.newest(folder, say)
        if found is None:
            raise BadInput(
                f"checkpoint.resume {address}: no complete checkpoint there, nor in a folder step-*"
                " below it"
            )
        return found
    found, complaint = store.bring("", folder, say)
    if complaint:
        raise BadInput(f"checkpoint.resume {address}: {complaint}")
    return found


def fetch_newest(address: str, folder: Path, say: Say) -> str | None:
    """The newest complete checkpoint that a run has copied to its store, brought back into a folder
    that has none."""
    try:
        found = _Store(f"checkpoint.upload {address}", address).newest(folder, say)
    except BadInput as error:
        # Beginning anew would in time write over the copies that are there.
        raise BadInput(
            f"{error}; to begin without looking there, set checkpoint.resume=never"
        ) from None
    return str(found) if found else None


class _Store:
    """A place in an object store; `setting` is where its address was written, for messages."""

    def __init__(self, setting: str, address: str) -> None:
        import fsspec

        self.setting = setting
        with self._naming_trouble():
            self.files, self.base = fsspec.core.url_to_fs(address.rstrip("/"))
            self.files.invalidate_cache()

    def newest(self, folder: Path, say: Say) -> Path | None:
        for name in sorted(
            (name for name in self._names() if name.startswith("step-")), reverse=True
        ):
            found, complaint = self.bring(f"/{name}", folder, say)
            if not complaint:
                return found
            say(f"{self.base}/{name}: passed over: {complaint}")
        return None

    def bring(self, below: str, folder: Path, say: Say) -> tuple[Path, str]:
        """The checkpoint's folder on this machine, and what is wrong with it, if anything is."""
        marker = self.read(below, MARKER)
        if marker is None:
            return folder, f"incomplete, it has no {MARKER}"
        try:
            described = json.loads(marker)
            final, names = folder / f"step-{described['step']:08d}", list(described["files"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return folder, f"its {MARKER} is cut short"
        if any(
            PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts for name in names
        ):
            return final, f"its {MARKER} names files outside the checkpoint"
        if final.exists() and not damage(final):
            if (final / MARKER).read_bytes() == marker:
                return final, ""  # it was brought here, or copied from here, before
            raise BadInput(
                f"{self.setting}: {final} is another checkpoint of the same step; use another"
                " --output, or remove it"
            )
        say(f"fetching {self.base}{below}")
        partial = folder / f".{final.name}.partial"
        complaint = self._copy(below, names, partial)
        _write(partial / MARKER, marker)
        complaint = complaint or damage(partial)
        if not complaint:
            put_in_place(partial, final)
        shutil.rmtree(partial, ignore_errors=True)
        return final, complaint

    def read(self, below: str, name: str) -> bytes | None:
        with self._naming_trouble():
            try:
                return self.files.cat_file(f"{self.base}{below}/{name}")  # type: ignore[no-any-return]
            except FileNotFoundError:
                return None

    def _names(self) -> list[str]:
        with self._naming_trouble():
            try:
                return [
                    each.rstrip("/").rpartition("/")[2]
                    for each in self.files.ls(self.base, detail=False)
                ]
            except FileNotFoundError:
                return []

    def _copy(self, below: str, names: list[str], partial: Path) -> str:
        def one(name: str) -> str:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            try:
                self.files.get_file(f"{self.base}{below}/{name}", str(partial / name))
            except FileNotFoundError:
                return f"{name} is missing"
            _settle(partial / name)
            return ""

        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with self._naming_trouble(), ThreadPoolExecutor(_AT_ONCE) as pool:
            return next(filter(None, pool.map(one, names)), "")

    @contextmanager
    def _naming_trouble(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # every store's library has errors of its own
            raise BadInput(f"{self.setting}: cannot be fetched: {reason(error)}") from None


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    _settle(path)


def _settle(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
