"""Files that `vault.*` reads and replaces: each is written whole or not at all, for its owner
alone, and plaintext that an editor needs is in a folder of its own that is always removed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Interrupted, Place, StepFailed
from playrunner.text import atomic_write, streams
from playrunner.vault.envelope import is_encrypted

STANDARD = "-"  # standard input or output
_MODE = 0o600


def read(file: str) -> bytes:
    """The content of a file, or of standard input."""
    if file == STANDARD:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", Place(file)) from None


def read_encrypted(file: str) -> bytes:
    content = read(file)
    if not is_encrypted(content):
        raise BadInput("it is not encrypted with vault", Place(file))
    return content


def write(file: str, content: bytes) -> None:
    """Replace a file, or the one that a link names; its owner alone can read it."""
    if file == STANDARD:
        streams.write_bytes(content)
        return
    path = Path(file).resolve()
    try:
        owner = path.stat() if path.exists() else None
        atomic_write.write_bytes(path, content, _MODE)
        if owner and (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
            with _allowed():
                os.chown(path, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror}", Place(file)) from None


def edited(content: bytes, name: str) -> bytes:
    """The content after the user has changed it in their editor."""
    with _plaintext_folder() as folder:
        path = folder / f"edit{Path(name).suffix}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        _run_editor(path)
        try:
            return path.read_bytes()
        except OSError as error:
            raise StepFailed(f"the editor left no file to read: {error.strerror}") from None


def _run_editor(path: Path) -> None:
    import subprocess

    editor = os.environ.get("EDITOR") or os.environ.get("VISUAL") or "vi"
    try:
        words = shlex.split(editor)
        # Ctrl-C is the editor's own; this process waits for what the editor makes of it.
        with _handled({signal.SIGINT: lambda *_: None}):
            code = subprocess.call([*words, str(path)])
    except (OSError, ValueError, IndexError) as error:
        raise BadInput(f'the editor "{editor}" cannot be run: {error}; set EDITOR') from None
    if code == -signal.SIGINT:
        raise Interrupted("the editor was interrupted; nothing is changed")
    if code:
        raise StepFailed(f'the editor "{editor}" ended with code {code}; nothing is changed')


@contextmanager
def _plaintext_folder() -> Iterator[Path]:
    """A folder for its owner alone, removed however this process is asked to end."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with _handled({signal.SIGTERM: end, signal.SIGHUP: end}):
        folder = Path(tempfile.mkdtemp(prefix="playrunner-vault-"))  # 0700
        try:
            yield folder
        finally:
            with _handled(dict.fromkeys(_ENDING, lambda *_: None)):
                _overwrite(folder)
                shutil.rmtree(folder, ignore_errors=True)


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _overwrite(folder: Path) -> None:
    """Editors leave copies beside the file; none of them is readable on the disk afterwards."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with _allowed(), path.open("r+b") as file:
                file.write(bytes(path.stat().st_size))
                file.flush()
                os.fsync(file.fileno())


@contextmanager
def _handled(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _allowed() -> Iterator[None]:
    """Nothing is lost where the system does not permit it."""
    try:
        yield
    except OSError:
        pass
