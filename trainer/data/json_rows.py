"""The rows of a JSON file that is one list, or an object with a list under `data`, read without
holding the file in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20  # characters read at a time; a row may be longer
_SPACE = " \t\r\n"


def rows(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8-sig") as opened:
        text = _Text(opened)
        if text.peek() != "{":
            yield from _items(text)
            return
        has_data = False
        for name in text.names():
            if name != "data":
                text.value()
                continue
            has_data = True
            yield from _items(text)
    if not has_data:
        raise KeyError("data")


def is_lines(file: Path) -> bool:
    """Whether a file has an object with a text on every line, as C4's files do."""
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        text = _Text(opened)
        try:
            for name in text.names():
                if name in ("text", "data"):
                    return name == "text"
                text.value()
        except ValueError:
            pass  # whoever reads it as something else says what is wrong
    return False


def _items(text: _Text) -> Iterator[Any]:
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
        return
    while True:
        yield text.value()
        if text.expect(",]") == "]":
            return


class _Text:
    """A file read forwards: the next character that is no space, or the next complete value."""

    def __init__(self, file: Any) -> None:
        self.file, self.held, self.at, self.ended = file, "", 0, False
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        while True:
            while self.at < len(self.held):
                if self.held[self.at] not in _SPACE:
                    return self.held[self.at]
                self.at += 1
            if self.ended:
                raise ValueError("it ends too early")
            self._read()

    def expect(self, signs: str) -> str:
        found = self.peek()
        if found not in signs:
            raise ValueError(f"{found!r} where one of {signs!r} is expected")
        self.at += 1
        return found

    def names(self) -> Iterator[str]:
        """The names of an object; the caller reads the value after each."""
        self.expect("{")
        while self.peek() != "}":
            name = self.value()
            self.expect(":")
            yield name
            if self.expect(",}") == "}":
                return

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.held, self.at)
            except ValueError:
                if self.ended:
                    raise
            else:
                # A number at the end of what was read may go on in what was not.
                if end < len(self.held) or self.ended:
                    self.at = end
                    return value
            self._read()

    def _read(self) -> None:
        """Twice as much as is left over, so that a long value is not tried again and again."""
        left = self.held[self.at :]
        block = self.file.read(max(_BLOCK, len(left)))
        self.held, self.at, self.ended = left + block, 0, not block
