"""Whether and when a failed run starts again: at most so often in all and within an hour, after a
pause that grows, and not when it would only fail in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from trainer.node.failure import LAUNCHER, LEASE_EXPIRED, RANK, Failure, cause

PER_HOUR = 6
IDLE_SECONDS = 60.0  # for the other nodes' processes to end
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 120.0
# A run that fails this often in a row, each time so soon and without a new checkpoint, will again
LOOP_FAILURES, SOON_SECONDS = 3, 600.0
# The trainer's own codes for bad input and a loss that is no number: the same again next time
LASTING_CODES = (5, 6)
LASTING = "it would fail again in the same way"
NOT_AGAIN = "restart: not started again: "
_LASTING = re.compile(
    r"exitcode\s*:\s*(?:5|6)\b|^(?:\[\d+\] )?trainer: "
    # Of a script: what is wrong with its text, its modules or its arguments
    r"|^(?:\[[\d-]+\] )?(?:SyntaxError|ModuleNotFoundError|ImportError|NameError): "
    r"|error: (?:unrecognized arguments|the following arguments are required|argument )"
)


class Failed(NamedTuple):
    """A start that failed: when, by one clock, and the newest checkpoint's step before and
    after."""

    started: float
    ended: float
    step_before: int
    step: int

    @property
    def stalled(self) -> bool:
        """It came soon and without a new checkpoint."""
        return self.ended - self.started < SOON_SECONDS and self.step <= self.step_before


class Limits(NamedTuple):
    """Of the restarts of one launch."""

    most: int
    per_hour: int = PER_HOUR
    first_pause: float = FIRST_PAUSE_SECONDS

    def refusal(self, failures: Sequence[Failed]) -> str:
        """Why there is no restart after the last of these failures; empty when there is one."""
        if not self.most:
            return "launch.max_restarts is 0"
        restarts, last = failures[:-1], failures[-1]
        if len(restarts) >= self.most:
            return f"launch.max_restarts {self.most} is used up"
        if sum(last.ended - each.ended < 3600 for each in restarts) >= self.per_hour:
            return f"{self.per_hour} restarts within an hour (launch.restarts_per_hour)"
        stalled = _stalled(failures)
        if stalled >= LOOP_FAILURES:
            newest = f"step {last.step}" if last.step >= 0 else "none"
            return (
                f"a crash loop: it failed {stalled} times in a row, each within"
                f" {SOON_SECONDS / 60:g} minutes and without a new checkpoint (newest: {newest})"
            )
        return ""

    def pause(self, failures: Sequence[Failed]) -> float:
        """Seconds until the next start: doubled with each failure that came soon."""
        doubled = 2.0 ** max(0, _stalled(failures) - 1)
        return min(LONGEST_PAUSE_SECONDS, self.first_pause * doubled)


def _stalled(failures: Sequence[Failed]) -> int:
    """How many of the last failures came soon and without a new checkpoint, in a row."""
    return len(list(takewhile(lambda failure: failure.stalled, reversed(failures))))


class Restarts:
    """The restarts of a run by the supervisor of its first node."""

    def __init__(self, config: dict[str, Any], output: Path) -> None:
        self.limits = Limits(
            0 if config["elastic_min"] else int(config.get("max_restarts", 0)),
            int(config.get("restarts_per_hour", PER_HOUR)),
            float(config.get("restart_seconds", FIRST_PAUSE_SECONDS)),
        )
        self.output = output
        self.count = 0
        self.failures: list[Failed] = []
        self.started, self.step = time.monotonic(), newest_step(output)
        self.at = 0.0  # when the run starts again
        self.refused = ""  # why it does not
        self._news = ""

    @property
    def most(self) -> int:
        return self.limits.most

    def decide(self, failures: list[Failure], gone: set[str], idle: bool) -> str:
        """After a failure, called until it is decided: "go", "wait" or "no"."""
        now, root = time.monotonic(), cause(failures)
        if not self.refused and not self.at:
            self.refused, pause = self.refusal(root), self.limits.pause(self.failures)
            if not self.refused:
                self.at = now + pause
                self._news = restart_line(self.count + 1, self.most, pause, root and root.reason)
        if self.refused:
            pass
        elif gone:
            self.refused = f"{', '.join(sorted(gone))} has ended"
        elif any(each.kind == LEASE_EXPIRED for each in failures):
            self.refused = "the controller is lost"
        elif now > self.at + IDLE_SECONDS:
            self.refused = "processes on other nodes do not end"
        if self.refused:
            self.at, self._news = 0.0, NOT_AGAIN + self.refused
            return "no"
        return "go" if now >= self.at and idle else "wait"

    def news(self) -> str:
        """What was decided since the last call."""
        news, self._news = self._news, ""
        return news

    def refusal(self, failure: Failure | None) -> str:
        """Why the run does not start again after this failure; empty when it does. Counts the
        failure."""
        if not self.most:
            return self.limits.refusal(())
        if failure is None or failure.kind not in (RANK, LAUNCHER):
            return "no process of it failed, but a node or its connection"
        if failure.code in LASTING_CODES or any(map(_LASTING.search, failure.tail)):
            return LASTING
        step = newest_step(self.output)
        self.failures.append(Failed(self.started, time.monotonic(), self.step, step))
        self.step = max(step, self.step)
        return self.limits.refusal(self.failures)

    def begin(self) -> None:
        self.started, self.at = time.monotonic(), 0.0
        self.count += 1


def restart_line(number: int, most: int, pause: float, reason: str | None) -> str:
    return f"restart: {number} of {most} in {pause:g} s after {reason or 'a failure'}"


def newest_step(output: Path) -> int:
    """The highest step of a complete checkpoint; -1 where there is none."""
    steps = [
        int(path.parent.name.removeprefix("step-"))
        for path in (output / "checkpoints").glob("step-*/complete.json")
        if path.parent.name.removeprefix("step-").isdigit()
    ]
    return max(steps, default=-1)
