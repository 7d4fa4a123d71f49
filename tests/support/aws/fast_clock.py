"""A clock that runs faster: a minute of waiting takes seconds, for a process and what it waits for.

Every duration shrinks alike, so whatever is decided by comparing two of them is decided as before,
as long as the other side (the lag of the pretend AWS) shrinks with it. Calls take as long as ever:
seen by the process they are slow.
"""

from __future__ import annotations

import time

from playrunner.run.batch import Batch


def hasten(speed: float, since: float) -> None:
    """From now on this process's seconds are this much shorter; its dates go on from `since`, which
    processes that read each other's records have in common."""
    date, monotonic, sleep, pause = time.time, time.monotonic, time.sleep, Batch.sleep
    start = monotonic()
    time.time = lambda: since + (date() - since) * speed
    time.monotonic = lambda: start + (monotonic() - start) * speed
    time.sleep = lambda seconds: sleep(seconds / speed)

    def shorter(batch: Batch, seconds: float) -> None:
        pause(batch, seconds / speed)

    Batch.sleep = shorter  # type: ignore[method-assign]  # it waits on a condition, by real time
