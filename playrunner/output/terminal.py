"""Prints lines to a terminal, with colours and one live status line where it is a screen."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

from playrunner.config.ansible_config import ansible_config
from playrunner.output.log_file import log_of_configuration
from playrunner.text.streams import in_one_line, visible

COLOURS = {
    "ok": "32",
    "changed": "33",
    "skipped": "36",
    "failed": "31;1",
    "unreachable": "31;1",
    "unknown": "35",
    "rescued": "33",
    "ignored": "36",
    "dim": "2",
    "bold": "1",
    "-": "31",
    "+": "32",
    "@": "36",
}
_ERASE_LINE = "\r\033[K"


class Painted(NamedTuple):
    """Text in a colour; escape sequences are added after the text was sanitized, so none can come
    from a host."""

    text: str
    colour: str

    def __str__(self) -> str:
        return self.text


class Terminal:
    """Lines for the user. Safe to use from several threads."""

    def __init__(self, stream: TextIO | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.is_screen = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.coloured = self._wants_colour() if colour is None else colour
        self._write = getattr(self.stream, "write_own", self.stream.write)
        self._lock = threading.Lock()
        self._live = ""
        self._shows_live = True
        self.log = log_of_configuration()

    def line(self, *parts: str | Painted) -> None:
        text = "".join(
            self._painted(part) if isinstance(part, Painted) else visible(part) for part in parts
        )
        with self._lock:
            self._erase()
            self._write(text + "\n")
            self._draw()
        if self.log:
            self.log.add("".join(visible(str(part)) for part in parts))

    def live(self, text: str) -> None:
        """Show a status line that the next call replaces; nothing where there is no screen."""
        if self.is_screen and self._shows_live and text != self._live:
            with self._lock:
                self._erase()
                self._live = in_one_line(text)[: shutil.get_terminal_size().columns - 1]
                self._draw()

    @contextmanager
    def without_live(self) -> Iterator[None]:
        """No status line, while a person types."""
        self.live("")
        self._shows_live = False
        try:
            yield
        finally:
            self._shows_live = True

    def keep(self) -> None:
        """End the live line and leave it on the screen."""
        if self._live:
            with self._lock:
                self._write("\n")
                self._live = ""
                self._draw()

    def _painted(self, part: Painted) -> str:
        text, code = visible(part.text), COLOURS.get(part.colour)
        return f"\033[{code}m{text}\033[0m" if self.coloured and code and text else text

    def _erase(self) -> None:
        if self._live:
            self._write(_ERASE_LINE)

    def _draw(self) -> None:
        if self._live:
            self._write(self._live)
        self.stream.flush()

    def _wants_colour(self) -> bool:
        config = ansible_config()
        if os.environ.get("NO_COLOR") or config.flag("nocolor"):
            return False
        forced = os.environ.get("FORCE_COLOR") or config.flag("force_color")
        return bool(forced) or self.is_screen
