"""A folder at the other end of this program's input and output: the program asks for a list of
files, then for each file from an offset on, and gets its bytes.

Requests are lines on standard output that begin with `send `; a list comes as one JSON line, a
file as exactly as many bytes as its size in the list says from the offset on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import IO, Any

from trainer.errors import BadInput
from trainer.staging.source import BLOCK, Interrupted, Remote

SEND = "send "  # the start of a request to the other end


class Pipe:
    def __init__(self, incoming: IO[bytes] | None = None, outgoing: IO[str] | None = None) -> None:
        self.incoming = incoming or sys.stdin.buffer
        self.outgoing = outgoing or sys.stdout

    def files(self) -> list[Remote]:
        self._ask({"list": True})
        line = self.incoming.readline()
        if not line:
            raise Interrupted("the other end sent no list of files", final=True)
        try:
            listed = [
                Remote(str(each["name"]), int(each["size"]), str(each["mark"]))
                for each in json.loads(line)
            ]
        except (ValueError, KeyError, TypeError):
            raise BadInput("the other end sent something else than a list of files") from None
        return sorted(listed, key=lambda remote: remote.name)

    def blocks(self, remote: Remote, start: int) -> Iterator[bytes]:
        self._ask({"file": remote.name, "start": start})
        left = remote.size - start
        while left > 0:
            block = self.incoming.read(min(BLOCK, left))
            if not block:
                raise Interrupted(f"the other end ended with {left} bytes to come", final=True)
            left -= len(block)
            yield block

    def _ask(self, request: dict[str, Any]) -> None:
        self.outgoing.write(SEND + json.dumps(request) + "\n")
        self.outgoing.flush()
