"""A program on a terminal of its own."""

from __future__ import annotations

import os
import select
import signal
import time


def take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C then means this program, as it does for a user
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # which tests in a shell's background would be deaf to


def read_until(master: int, text: str, seconds: float = 60.0) -> str:
    found, deadline = "", time.monotonic() + seconds
    while text not in found:
        ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"{text!r} did not appear in {found!r}"
        found += os.read(master, 65536).decode(errors="replace")
    return found


def read_to_end(master: int, seconds: float = 60.0) -> str:
    found, deadline = "", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready and time.monotonic() < deadline, f"it did not end: {found[-500:]!r}"
        try:
            data = os.read(master, 65536)
        except OSError:  # how a pseudo terminal tells that the other side is closed
            return found
        if not data:
            return found
        found += data.decode(errors="replace")
