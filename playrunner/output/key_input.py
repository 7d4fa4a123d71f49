"""A person's answer at a terminal, key by key: Ctrl-C asks whether to go on, and ends no run."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playrunner.errors import StepFailed

INTERRUPT = "\x03"
ENTER = ("\r", "\n")
CHOICE = "Press 'C' to continue the play or 'A' to abort"
_ERASED = "\b \b"
_MOST_BYTES = 4  # of a character


def is_interactive() -> bool:
    """Whether a person can type: in the foreground of a terminal."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def read_answer(
    show: Callable[[], None], echo: bool, seconds: float | None = None, poll: float = 0.2
) -> str:
    """What was typed until Enter, or until the seconds are over: then Enter ends nothing. What is
    shown before comes when nothing is echoed any more."""
    typed: list[str] = []
    with _key_by_key() as terminal:
        show()
        ends = None if seconds is None else time.monotonic() + seconds
        erase = _erase_keys(terminal)
        while ends is None or time.monotonic() < ends:
            left = poll if ends is None else min(poll, max(0.0, ends - time.monotonic()))
            key = _key(terminal, left)
            if key == INTERRUPT:
                _choose(terminal, poll)
                break
            if ends is None and key in ENTER:
                break
            if ends is None and key:
                _edit(typed, key, erase, echo)
    _write("\n")
    return "".join(typed)


def _choose(terminal: int, poll: float) -> None:
    _write(f"\n{CHOICE}\n")
    while True:
        key = _key(terminal, poll).lower()
        if key == "a":
            raise StepFailed("user requested abort!")
        if key == "c":
            return


def _edit(typed: list[str], key: str, erase: tuple[str, ...], echo: bool) -> None:
    if key in erase:
        if typed:
            typed.pop()
            _write(_ERASED if echo else "")
    elif key.isprintable():
        typed.append(key)
        _write(key if echo else "")


def _key(terminal: int, seconds: float) -> str:
    """The next key, or nothing. The bytes of one that is not ASCII come together."""
    if not select.select([terminal], [], [], seconds)[0]:
        return ""
    data = b""
    while len(data) < _MOST_BYTES:
        data += _byte(terminal)
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return ""


def _byte(terminal: int) -> bytes:
    try:
        data = os.read(terminal, 1)
    except OSError:
        data = b""
    if not data:
        raise StepFailed("the terminal was closed while it was asked")
    return data


@contextmanager
def _key_by_key() -> Iterator[int]:
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _erase_keys(terminal: int) -> tuple[str, ...]:
    key = termios.tcgetattr(terminal)[6][termios.VERASE]
    return ("\x7f", "\b", key.decode(errors="replace") if isinstance(key, bytes) else "\x7f")


def _write(text: str) -> None:
    # Past what makes control characters of others visible
    getattr(sys.stdout, "write_own", sys.stdout.write)(text)
    sys.stdout.flush()
