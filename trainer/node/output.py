"""What a node's processes print: read as it comes, each line marked with whose it is, kept in the
node's log."""

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
_RANKED = re.compile(rb"^\[\d+\] ")  # a launcher may have marked its ranks' lines itself


class Output:
    """The pipes of all processes, and the one log they go to."""

    def __init__(
        self, log: Path, selector: selectors.BaseSelector, refused: Callable[[OSError], None]
    ) -> None:
        self.selector, self.refused = (
            selector,
            refused,
        )  # called once, when the log cannot be written any more
        self.log: IO[bytes] = open(log, "ab", buffering=0)  # noqa: SIM115 (held as long as the process lives)
        self.pipes: dict[
            int, tuple[str, bytearray]
        ] = {}  # whose, and what came without its line's end
        self.tail: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
        self.mute = False

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
        """What a process wrote last is still in its pipe when its end is seen."""
        for key in [key for key in self.selector.get_map().values() if key.fd in self.pipes]:
            before = -1
            while key.fd in self.pipes and before != self.log.tell():
                before = self.log.tell()
                self.read(key)

    def note(self, text: str) -> None:
        """A line of the keeper's own."""
        self._write(f"[node] {time.strftime('%H:%M:%S')} {text}\n".encode())

    def _keep(self, label: str, text: bytes) -> None:
        for line in text.splitlines():
            line = line.rpartition(b"\r")[2]  # of a progress bar, what it ended with
            if not _RANKED.match(line):
                line = f"[{label}] ".encode() + line
            self.tail.append(line.decode(errors="replace"))
            self._write(line + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self.log.write(line)
        except OSError as error:
            if (
                not self.mute
            ):  # told once; what cannot be written down still goes to the other nodes
                self.mute = True
                self.refused(error)
