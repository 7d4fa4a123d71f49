"""train.minutes: how many steps fit into them, decided from the first steps of this machine."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.config import Train
from trainer.distributed.process_group import ProcessGroup

ENOUGH_STEPS = 4  # after the first, which warms up
ENOUGH_SHARE = 0.02  # of the time: a few quick steps are mostly noise
FORWARD_SHARE = 0.5  # of a step's time per sample that an evaluation takes, at most


class TimeBudget:
    """Rank 0's: the others take its decision. The minutes begin with the process, so that loading
    and the network check are within them, as are the last checkpoint and the evaluation."""

    def __init__(
        self, train: Train, processes: ProcessGroup, validation: Any, age: float | None = None
    ) -> None:
        self._train, self._processes = train, processes
        seconds = 60 * train.minutes if processes.first else 0.0
        self._seconds = seconds or math.inf
        self._ends_at = time.monotonic() + self._seconds - (process_age() if age is None else age)
        self._evaluation_steps = evaluation_steps(train, processes.world_size, validation)
        self._save_seconds = self._pace = 0.0
        self._since: tuple[int, float] | None = None  # the second step, and when it began
        self._asked_at = time.monotonic()
        self._begun, self._last = False, 0

    def timed(self, save: Callable[..., None]) -> None:
        """The first save, to its end where there is a budget: the last takes as long."""
        began = time.monotonic()
        save(wait=bool(self._train.minutes))
        self._save_seconds = time.monotonic() - began

    def last_step(self, step: int) -> int:
        """The last step that fits, `step` being taken; 0 where there is no end by time yet."""
        if math.isinf(self._seconds):
            return 0
        now = time.monotonic()
        if not self._last:
            self._decide(step, now)
        warm = self._since is not None and step > self._since[0]
        recent, self._asked_at = (now - self._asked_at if warm else 0.0), now
        # After the next step there is no time for another one.
        full = now + 2 * recent + self._closing() > self._ends_at
        return step + 1 if full else self._last

    def _decide(self, step: int, now: float) -> None:
        if self._since is None:
            if self._begun:
                self._since = step, now
            self._begun = True
            return
        taken, took = step - self._since[0], now - self._since[1]
        if taken < ENOUGH_STEPS or took < ENOUGH_SHARE * self._seconds:
            return
        self._pace = took / taken
        left = self._ends_at - now - self._closing()
        self._last = step + max(1, int(left / self._pace))
        self._processes.say(
            f"{self._train.minutes:g} minutes: {self._pace:.2g} s per step and"
            f" {self._closing():.0f} s for the end, so {min(self._last, self._train.steps)} of"
            f" {self._train.steps} steps"
        )

    def _closing(self) -> float:
        return self._save_seconds + self._evaluation_steps * self._pace


def evaluation_steps(train: Train, world_size: int, validation: Any) -> float:
    """How many steps' time the evaluation at the end takes."""
    size = train.evaluate.device_batch_size or train.device_batch_size
    batches = train.evaluate.batches
    if validation is None:
        return 0.0
    if hasattr(validation, "__len__"):
        there = math.ceil(len(validation) / size)
        batches = min(batches or there, there)
    rounds = math.ceil(batches / world_size)
    return FORWARD_SHARE * rounds * size * world_size / train.batch_size


def process_age() -> float:
    """Seconds since this process was started; 0 where the kernel does not tell."""
    try:
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, IndexError, ValueError):
        return 0.0
