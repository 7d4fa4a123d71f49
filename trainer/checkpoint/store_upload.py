"""Copies of checkpoints in an object store (s3://, gs://, anything fsspec knows), made while
training goes on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trainer.errors import BadInput, nearest

# Making a folder there would make a bucket
_WITHOUT_FOLDERS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")


class Uploads:
    """Uploads one checkpoint at a time, oldest first, on a thread of its own."""

    def __init__(self, target: str, last: str, say: Callable[[str], None]) -> None:
        self.target, self.last, self.say = target, last, say
        self._waiting: deque[Path] = deque()
        self._current: Path | None = None
        self._changed = threading.Condition()

    def add(self, folder: Path) -> None:
        with self._changed:
            self._waiting.append(folder)
            if self._current is None:
                self._current = self._waiting.popleft()
                threading.Thread(target=self._work, name="upload", daemon=True).start()

    def release(self, folder: Path) -> bool:
        """Whether a folder may be removed: not during its upload; a queued one is cancelled."""
        with self._changed:
            if folder == self._current:
                return False
            if folder not in self._waiting:
                return True
            self._waiting.remove(folder)
        self.say(f"{folder}: not copied to {self.target}: newer checkpoints replaced it first")
        return True

    def wait(self, seconds: float | None = None) -> None:
        """Until all uploads are done, or so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._current is None, seconds):
                self.say(f"{self._current}: not copied to {self.target}: no time left")

    def _work(self) -> None:
        while self._current is not None:
            try:
                upload(self._current, self.target, self.last)
            except Exception as error:  # each store's library has its own; none may end a run
                self.say(
                    f"{self._current}: not copied to {self.target}: {reason(error)}; the local"
                    " copy is kept"
                )
            with self._changed:
                self._current = self._waiting.popleft() if self._waiting else None
                self._changed.notify_all()


def upload(folder: Path, target: str, last: str) -> None:
    """Copy a folder, the file named `last` after all others: it marks the copy as complete."""
    import fsspec

    files, base = fsspec.core.url_to_fs(target.rstrip("/") + f"/{folder.name}")
    earlier = _content(files, f"{base}/{last}")
    if earlier == (folder / last).read_bytes():
        return
    if earlier is not None:  # the same step of another attempt: incomplete until replaced
        files.rm_file(f"{base}/{last}")
    for path in sorted(
        (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.name == last
    ):
        remote = f"{base}/{path.relative_to(folder)}"
        if target.partition("://")[0] not in _WITHOUT_FOLDERS:
            files.makedirs(remote.rsplit("/", 1)[0], exist_ok=True)
        files.put_file(str(path), remote)


def check_store(setting: str, address: str) -> None:
    """Refuse an unusable address before training starts; `setting` names where it was set."""
    protocol, separator, rest = address.partition("://")
    if not separator:
        return
    if "@" in rest.partition("/")[0]:
        # Not shown: it may be a password.
        raise BadInput(
            f"{setting}: remove the part before the @; credentials come from the environment"
            " or the machine's role, since the profile is written into every checkpoint"
        )
    try:
        from fsspec.registry import get_filesystem_class, known_implementations
    except ImportError:
        raise BadInput(f'{setting} needs the fsspec library: pip install "fsspec>=2025"') from None
    if protocol not in known_implementations:
        raise BadInput(
            f'{setting} {address}: no store "{protocol}"'
            + nearest(protocol, ["s3", "gs", "abfs", "file"])
        )
    package = known_implementations[protocol]["class"].partition(".")[0]
    if find_spec(package) is None:
        raise BadInput(f"{setting} {address}: needs the {package} library: pip install {package}")
    if package == "fsspec":
        try:
            get_filesystem_class(protocol)
        except ImportError as error:
            raise BadInput(f"{setting} {address}: {error}") from None
    elif not rest.partition("/")[0]:
        raise BadInput(f"{setting} {address}: names no bucket; write it as {protocol}://bucket/run")


def reason(error: Exception) -> str:
    """The type and first line of an error of a store's library."""
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


def _content(files: Any, path: str) -> bytes | None:
    try:
        return files.cat_file(path)  # type: ignore[no-any-return]
    except (FileNotFoundError, PermissionError):  # a write-only role gets either
        return None
