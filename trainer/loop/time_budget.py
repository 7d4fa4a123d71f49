"""train.minutes: how many steps fit into them, decided from the first steps of this machine and
corrected as the run goes on."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from trainer.config import Train
from trainer.distributed.process_group import ProcessGroup

ENOUGH_STEPS = 2  # after the first, which warms up; what they show wrongly is corrected
ENOUGH_SHARE = 0.02  # of the time: a few quick steps are mostly noise
# The pace is that of the recent steps: the first ones may be slowed down by dense checkpoints
RECENT_STEPS, RECENT_SHARE = 10, 0.05
END_MARGIN = 1.5  # on what the end took when it was measured: the machine may be busier by then
CORRECTED_SHARE = 0.05  # of the steps still to take: less is no reason to show another number


class TimeBudget:
    """Rank 0's: the others take its decision. The minutes begin with the process, so that loading
    and the network check are within them, as are the last checkpoint and the evaluation."""

    def __init__(self, train: Train, processes: ProcessGroup, age: float | None = None) -> None:
        self._train, self._processes = train, processes
        seconds = 60 * train.minutes if processes.first else 0.0
        self._seconds = seconds or math.inf
        self._ends_at = time.monotonic() + self._seconds - (process_age() if age is None else age)
        self.measures = train.minutes > 0  # on every rank: how long the end takes is still unknown
        self._closing = 0.0
        self._marks: deque[tuple[int, float]] = deque()  # recent steps, and when each began
        self._last = 0

    def measure(self, save: Callable[..., None], evaluation_seconds: Callable[[], float]) -> None:
        """Called by all ranks after the first step, when there is an optimizer state to save: what
        is done at the end is done once now, the evaluation in part."""
        self.measures = False
        began = time.monotonic()
        save(wait=True)
        saving = time.monotonic() - began
        self._closing = END_MARGIN * (saving + evaluation_seconds())

    def last_step(self, step: int) -> int:
        """The last step that fits, `step` being complete; 0 where there is no end by time yet."""
        if math.isinf(self._seconds):
            return 0
        now = time.monotonic()
        if not self.measures:  # the first step compiles and tokenises
            self._marks.append((step, now))
        self._plan(step, now)
        # After the next step there is no time for another one.
        recent = now - self._marks[-2][1] if len(self._marks) > 1 else 0.0
        if now + 2 * recent + self._closing > self._ends_at:
            return step + 1
        return self._last

    def _plan(self, step: int, now: float) -> None:
        marks = self._marks
        while (
            len(marks) > 1
            and step - marks[1][0] >= RECENT_STEPS
            and now - marks[1][1] >= RECENT_SHARE * self._seconds
        ):
            marks.popleft()
        taken, took = (step - marks[0][0], now - marks[0][1]) if marks else (0, 0.0)
        if taken < ENOUGH_STEPS or took < ENOUGH_SHARE * self._seconds:
            return
        pace = took / taken
        fits = step + max(1, int((self._ends_at - now - self._closing) / pace))
        if not self._last:
            steps = self._train.steps
            self._processes.say(
                f"time: {min(fits, steps)} of the {steps} steps fit, at {pace:.2g} s each with"
                f" {self._closing:.0f} s for the last checkpoint and the evaluation"
            )
        if not self._last or abs(fits - self._last) > CORRECTED_SHARE * (self._last - step):
            self._last = fits


def process_age() -> float:
    """Seconds since this process was started; 0 where the kernel does not tell."""
    try:
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, IndexError, ValueError):
        return 0.0
