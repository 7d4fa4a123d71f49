"""Checkpoints downloaded from an object store: only complete ones, renamed once verified."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from trainer.checkpoint.manifest import MARKER, damage, put_in_place
from trainer.checkpoint.run_folder import stored_order
from trainer.checkpoint.store_upload import reason
from trainer.errors import BadInput

_PARALLEL = 8  # downloads; a store limits the bandwidth of one stream
Say = Callable[[str], None]


def fetch(address: str, folder: Path, say: Say) -> Path:
    """Download the checkpoint at an address, or the newest complete one of the run there."""
    store = _Store(f"checkpoint.resume {address}", address)
    if store.read("", MARKER) is None:
        newest = store.newest(folder, say)
        if newest is None:
            raise BadInput(
                f"checkpoint.resume {address}: no complete checkpoint there, nor in a folder step-*"
                " below it"
            )
        return newest
    checkpoint, problem = store.download("", folder, say)
    if problem:
        raise BadInput(f"checkpoint.resume {address}: {problem}")
    return checkpoint


def fetch_newest(address: str, folder: Path, say: Say) -> str | None:
    """Download the newest complete checkpoint that a run has uploaded."""
    try:
        newest = _Store(f"checkpoint.upload {address}", address).newest(folder, say)
    except BadInput as error:
        # A fresh start would in time overwrite the copies in the store.
        raise BadInput(f"{error}; to start from scratch, set checkpoint.resume=never") from None
    return str(newest) if newest else None


class _Store:
    """A folder in an object store; `setting` names where its address was set, for messages."""

    def __init__(self, setting: str, address: str) -> None:
        import fsspec

        self.setting = setting
        with self._bad_input():
            self.files, self.base = fsspec.core.url_to_fs(address.rstrip("/"))
            self.files.invalidate_cache()

    def newest(self, folder: Path, say: Say) -> Path | None:
        names = [name for name in self._names() if name.startswith("step-")]
        with ThreadPoolExecutor(_PARALLEL) as pool:
            markers = dict(
                zip(names, pool.map(lambda name: self.read(f"/{name}", MARKER), names), strict=True)
            )
        for name in stored_order({name: marker or b"" for name, marker in markers.items()}):
            checkpoint, problem = self.download(f"/{name}", folder, say)
            if not problem:
                return checkpoint
            say(f"checkpoint: {self.base}/{name}: passed over: {problem}")
        return None

    def download(self, below: str, folder: Path, say: Say) -> tuple[Path, str]:
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
                return final, ""  # downloaded or uploaded before
            raise BadInput(
                f"{self.setting}: {final} is another checkpoint of the same step; use another"
                " --output, or remove it"
            )
        say(f"fetching {self.base}{below}")
        partial = folder / f".{final.name}.partial"
        problem = self._copy(below, names, partial)
        _write(partial / MARKER, marker)
        problem = problem or damage(partial)
        if not problem:
            put_in_place(partial, final)
        shutil.rmtree(partial, ignore_errors=True)
        return final, problem

    def read(self, below: str, name: str) -> bytes | None:
        with self._bad_input():
            try:
                return self.files.cat_file(f"{self.base}{below}/{name}")  # type: ignore[no-any-return]
            except FileNotFoundError:
                return None

    def _names(self) -> list[str]:
        with self._bad_input():
            try:
                return [
                    path.rstrip("/").rpartition("/")[2]
                    for path in self.files.ls(self.base, detail=False)
                ]
            except FileNotFoundError:
                return []

    def _copy(self, below: str, names: list[str], partial: Path) -> str:
        def copy(name: str) -> str:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            try:
                self.files.get_file(f"{self.base}{below}/{name}", str(partial / name))
            except FileNotFoundError:
                return f"{name} is missing"
            _sync(partial / name)
            return ""

        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with self._bad_input(), ThreadPoolExecutor(_PARALLEL) as pool:
            return next(filter(None, pool.map(copy, names)), "")

    @contextmanager
    def _bad_input(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # every store's library has errors of its own
            raise BadInput(f"{self.setting}: cannot be downloaded: {reason(error)}") from None


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    _sync(path)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
