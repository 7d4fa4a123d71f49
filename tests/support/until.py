"""The one waiter of the tests, for what sends no event: processes, files, servers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 90.0  # generous: a loaded machine is no failure
PAUSE_SECONDS = 0.05
PAUSE_PER_LOOK = 2.0  # a look that starts a program leaves the cores to what it waits for


def until(
    look: Callable[[], T],
    holds: Callable[[T], object] = bool,
    seconds: float = SECONDS,
    *,
    what: str | Callable[[], str] = "the expected state",
    process: subprocess.Popen[Any] | None = None,
    pause: Callable[[], object] | None = None,
) -> T:
    """Look until it holds, and return what was seen then.

    On a time-out the test fails with `what` was expected and what was seen last. It fails at once
    when `process`, which should cause it, ends. `pause` is called between two looks; without it,
    the longer a look takes, the rarer it is.
    """
    deadline = time.monotonic() + seconds
    while True:
        ended = process is not None and process.poll() is not None  # before the last look
        began = time.monotonic()
        seen = look()
        took = time.monotonic() - began
        if holds(seen):
            return seen
        if ended and process is not None:
            raise AssertionError(f"ended before {_text(what)}: {process.communicate()}")
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {_text(what)}; last seen: {seen!r}")
        if pause:
            pause()
        else:
            time.sleep(max(PAUSE_SECONDS, PAUSE_PER_LOOK * took))


def _text(what: str | Callable[[], str]) -> str:
    return what() if callable(what) else what
