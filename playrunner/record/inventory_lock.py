"""Inventory lock: one run at a time on an inventory; a second one waits and names the holder."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, LockHeld
from playrunner.record.ledger import recording_in, state_directory
from playrunner.record.processes import is_ancestor
from playrunner.text.documents import read_json_object
from playrunner.text.file_lock import file_lock


@contextmanager
def inventory_lock(
    files: tuple[Path, ...], command: str, wait: bool, say: Callable[[str], None]
) -> Iterator[None]:
    """Hold the inventory's lock; another holder is named, then waited for or refused."""
    folder = state_directory() / "locks"
    with recording_in(folder):
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    inventory = "\n".join(str(file.absolute()) for file in files).encode()
    name = hashlib.sha256(inventory).hexdigest()[:16]
    lock, note = folder / f"{name}.lock", folder / f"{name}.json"
    with ExitStack() as held:
        try:
            with recording_in(folder):
                held.enter_context(file_lock(lock, wait=False))
        except BlockingIOError:
            if _started_us(note):
                yield
                return
            if not wait:
                raise LockHeld(
                    f"another run works on this inventory: {_holder(note)}; run again when it is"
                    " done, or leave out --no-wait to wait for it"
                ) from None
            say(f"waiting for another run on this inventory: {_holder(note)} (Ctrl-C to give up)")
            held.enter_context(file_lock(lock))
        held.callback(note.unlink, missing_ok=True)
        with recording_in(folder):
            note.write_text(json.dumps(_note(command)))
        yield


def _note(command: str) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "user": _user(),
        "host": socket.gethostname(),
        "command": command,
        "since": time.time(),
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a number that has no name
        return str(os.getuid())


def _started_us(note: Path) -> bool:
    """Whether this process is a step of the run that holds the lock, and works under it."""
    try:
        held = read_json_object(note)
    except BadInput:
        return False
    return held.get("host") == socket.gethostname() and is_ancestor(held.get("pid"))


def _holder(note: Path) -> str:
    try:
        held = read_json_object(note)
        age = int(time.time() - held["since"])
        return f"{held['user']}@{held['host']} pid {held['pid']}, since {age}s: {held['command']}"
    except (BadInput, ValueError, KeyError, TypeError):
        return "its holder left no note"
