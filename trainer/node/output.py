"""The output of a node's processes: read as it comes, each line prefixed with its process, written
to the node's log."""

from __future__ import annotations

import collections
import os
import re
import selectors
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

TAIL_LINES = 20
_READ_BYTES = 1 << 16
_RANKED = re.compile(rb"^\[\d+\] ")  # a launcher may have prefixed its ranks' lines itself


class Output:
    """The pipes of all processes, and the one log they go to."""

    def __init__(
        self, log: Path, selector: selectors.BaseSelector, refused: Callable[[OSError], None]
    ) -> None:
        # `refused` is called once, when the log can no longer be written
        self.selector, self.refused = selector, refused
        self.log: IO[bytes] = open(log, "ab", buffering=0)  # noqa: SIM115 (open until exit)
        self.pipes: dict[int, tuple[str, bytearray]] = {}  # label, and an unfinished line
        self.tail: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
        self.failed = False
        self.reader: Callable[[list[str]], str] | None = None  # gets all lines; may answer a note
        self.tick: Callable[[], None] = lambda: None  # called now and then

    def add(self, pipe: Any, label: str) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipes[pipe.fileno()] = (label, bytearray())
        self.selector.register(pipe, selectors.EVENT_READ, None)

    def read(self, key: selectors.SelectorKey) -> None:
        try:
            data = os.read(key.fd, _READ_BYTES)
        except BlockingIOError:
            return
        label, pending = self.pipes[key.fd]
        if not data:
            self._keep(label, bytes(pending))
            del self.pipes[key.fd]
            self.selector.unregister(key.fileobj)
            return
        pending += data
        whole = pending.rfind(b"\n") + 1
        self._keep(label, bytes(pending[:whole]))
        del pending[:whole]

    def drain(self) -> None:
        """Read what an ended process has left in its pipe."""
        for key in [key for key in self.selector.get_map().values() if key.fd in self.pipes]:
            before = -1
            while key.fd in self.pipes and before != self.log.tell():
                before = self.log.tell()
                self.read(key)

    def note(self, text: str) -> None:
        """Log a line of the supervisor itself."""
        self._write(f"[node] {time.strftime('%H:%M:%S')} {text}\n".encode())

    def _keep(self, label: str, text: bytes) -> None:
        shown = []
        for line in text.splitlines():
            line = line.rpartition(b"\r")[2]  # a progress bar's last state
            if not _RANKED.match(line):
                line = f"[{label}] ".encode() + line
            shown.append(line.decode(errors="replace"))
            self._write(line + b"\n")
        self.tail.extend(shown)
        if self.reader and (note := self.reader(shown)):
            self.note(note)

    def _write(self, line: bytes) -> None:
        try:
            self.log.write(line)
        except OSError as error:
            if not self.failed:  # reported once; the tail still goes to the other nodes
                self.failed = True
                self.refused(error)
