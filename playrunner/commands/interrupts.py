"""Ctrl-C while the program is still loading, and once a verb runs."""

from __future__ import annotations

import signal


def end_at_once() -> None:
    """While the program loads, Ctrl-C ends the process as the signal by itself does: Invoke would
    make exit code 1 of it, Python a traceback. Where it is ignored it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Once a verb runs it is a KeyboardInterrupt, after which the verb cleans up."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
