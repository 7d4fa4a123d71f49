"""Terminal: colours where they are wanted, one live line where there is a screen, plain lines elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from typing import TextIO

COLOURS = {"ok": "32", "changed": "33", "skipped": "36", "failed": "31;1", "unreachable": "31;1", "unknown": "35",
           "rescued": "33", "ignored": "36", "dim": "2", "bold": "1", "-": "31", "+": "32", "@": "36"}


class Terminal:
    """Where lines for people go. Safe to use from several threads."""

    def __init__(self, stream: TextIO | None = None, colour: bool | None = None) -> None:
        self.stream = stream or sys.stdout
        self.is_screen = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self.coloured = self._wants_colour() if colour is None else colour
        self._lock = threading.Lock()
        self._live = ""

    def paint(self, text: str, colour: str) -> str:
        code = COLOURS.get(colour)
        return f"\033[{code}m{text}\033[0m" if self.coloured and code and text else text

    def line(self, text: str = "") -> None:
        with self._lock:
            self._erase()
            self._write(text + "\n")
            self._draw()

    def live(self, text: str) -> None:
        """Show one line that the next replaces; nothing where there is no screen."""
        if self.is_screen and text != self._live:
            with self._lock:
                self._erase()
                self._live = text[: shutil.get_terminal_size().columns - 1]
                self._draw()

    def _erase(self) -> None:
        if self._live:
            self._write("\r\033[K")

    def _draw(self) -> None:
        if self._live:
            self._write(self._live)
        try:
            self.stream.flush()
        except (BrokenPipeError, ValueError):
            pass

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
        except UnicodeEncodeError:
            self.stream.write(text.encode("ascii", "replace").decode())
        except (BrokenPipeError, ValueError):
            pass  # the reader is gone (a pager was closed); the run goes on

    def _wants_colour(self) -> bool:
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or self.is_screen
