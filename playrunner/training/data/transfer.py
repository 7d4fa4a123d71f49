"""Following `trainer.staging` at the other end of a channel; a folder of this machine is sent to it
as it asks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from playrunner.errors import BadInput, StepFailed
from playrunner.ssh.connection import Channel
from playrunner.text.documents import json_object

RESULT, SEND = "result ", "send "  # how lines of the program begin
_PIECE = 1 << 18
_MOST_LINE = 1 << 16


class Sender(Protocol):
    """What answers the requests of the program at the other end."""

    def answer(self, request: dict[str, Any], channel: Channel) -> None: ...


class Folder:
    """The files of a folder, or one file, as they were when they were listed."""

    def __init__(self, path: Path) -> None:
        self.path = path.parent if path.is_file() else path
        self.files: dict[str, os.stat_result] = {}
        if path.is_file():
            self.files[path.name] = path.stat()
        for above, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                file = Path(above, name)
                if file.is_file():
                    self.files[str(file.relative_to(path))] = file.stat()
        if not self.files:
            raise BadInput(f"--source {path}: there are no files in it")

    def answer(self, request: dict[str, Any], channel: Channel) -> None:
        """What comes from the other end is a request, and only for files that were listed."""
        if request.get("list"):
            listed = [
                {"name": name, "size": status.st_size, "mark": str(status.st_mtime_ns)}
                for name, status in self.files.items()
            ]
            channel.send(json.dumps(listed).encode() + b"\n")
            return
        name, start = request.get("file"), request.get("start")
        status = self.files.get(name) if isinstance(name, str) else None
        if status is None or not isinstance(start, int) or not 0 <= start <= status.st_size:
            raise StepFailed(f"staging: a file was asked for that was not offered: {name!r:.100}")
        self._send(self.path / str(name), start, status.st_size - start, channel)

    def _send(self, file: Path, start: int, left: int, channel: Channel) -> None:
        with file.open("rb") as opened:
            opened.seek(start)
            while left:
                piece = opened.read(min(_PIECE, left))
                if not piece:
                    raise StepFailed(f"staging: {file} became shorter while it was sent")
                channel.send(piece)
                left -= len(piece)


def follow(
    channel: Channel, folder: Sender | None, say: Callable[[str], None]
) -> tuple[dict[str, Any], str]:
    """To the program's end: its result, and why it failed ("" if it did not)."""
    result: dict[str, Any] = {}
    last = ""
    try:
        for line in _lines(channel):
            if line.startswith(RESULT):
                result = json_object(line.removeprefix(RESULT)) or {}
            elif line.startswith(SEND) and folder:
                folder.answer(json_object(line.removeprefix(SEND)) or {}, channel)
            else:
                last = line
                say(line)
        code = channel.status()
        errors = channel.stderr_text().strip().splitlines()
    finally:
        channel.close()
    if not code and result:
        return result, ""
    return result, last or (errors[-1] if errors else f"the program ended with {code}")


def _lines(channel: Channel) -> Iterator[str]:
    held = b""
    while data := channel.receive():
        held += data
        *lines, held = held.split(b"\n")
        yield from (line.decode(errors="replace") for line in lines)
        held = held[-_MOST_LINE:]
    if held:
        yield held.decode(errors="replace")
