"""Whether and when a failed run starts again: at most so often in all and within an hour, after a
pause that grows, and not when it would only fail in the same way."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from trainer.node.failure import LAUNCHER, LEASE_EXPIRED, RANK, Failure, cause

PER_HOUR = 6
IDLE_SECONDS = 60.0  # for the other nodes' processes to end
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 120.0
# A run that fails this often in a row, each time so soon and without a new checkpoint, will again
LOOP_FAILURES, SOON_SECONDS = 3, 600.0
# The trainer's own codes for bad input and a loss that is no number: the same again next time
_LASTING_CODES = (5, 6)
_LASTING = re.compile(
    r"exitcode\s*:\s*(?:5|6)\b|^(?:\[\d+\] )?trainer: "
    # Of a script: what is wrong with its text, its modules or its arguments
    r"|^(?:\[[\d-]+\] )?(?:SyntaxError|ModuleNotFoundError|ImportError|NameError): "
    r"|error: (?:unrecognized arguments|the following arguments are required|argument )"
)


class Restarts:
    def __init__(self, config: dict[str, Any], output: Path) -> None:
        self.most = 0 if config["elastic_min"] else int(config.get("max_restarts", 0))
        self.per_hour = int(config.get("restarts_per_hour", PER_HOUR))
        self.first_pause = float(config.get("restart_seconds", FIRST_PAUSE_SECONDS))
        self.output = output
        self.times: list[float] = []
        self.stalled = 0  # failures in a row that came soon and without a new checkpoint
        self.started, self.step = time.monotonic(), newest_step(output)
        self.at = 0.0  # when the run starts again
        self.refused = ""  # why it does not
        self._news = ""

    @property
    def count(self) -> int:
        return len(self.times)

    def decide(self, failures: list[Failure], gone: set[str], idle: bool) -> str:
        """After a failure, called until it is decided: "go", "wait" or "no"."""
        now, root = time.monotonic(), cause(failures)
        if not self.refused and not self.at:
            self.refused, pause = self.refusal(root), self.pause()
            if not self.refused:
                self.at = now + pause
                self._news = (
                    f"restart: {self.count + 1} of {self.most} in {pause:g} s after"
                    f" {root.reason if root else 'a failure'}"
                )
        if self.refused:
            pass
        elif gone:
            self.refused = f"{', '.join(sorted(gone))} has ended"
        elif any(each.kind == LEASE_EXPIRED for each in failures):
            self.refused = "the controller is lost"
        elif now > self.at + IDLE_SECONDS:
            self.refused = "processes on other nodes do not end"
        if self.refused:
            self.at, self._news = 0.0, f"restart: not started again: {self.refused}"
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
            return "launch.max_restarts is 0"
        if failure is None or failure.kind not in (RANK, LAUNCHER):
            return "no process of it failed, but a node or its connection"
        if failure.code in _LASTING_CODES or any(map(_LASTING.search, failure.tail)):
            return "it would fail again in the same way"
        step, now = newest_step(self.output), time.monotonic()
        soon = now - self.started < SOON_SECONDS
        self.stalled = self.stalled + 1 if soon and step <= self.step else 0
        self.step = max(step, self.step)
        if self.count >= self.most:
            return f"launch.max_restarts {self.most} is used up"
        if sum(now - when < 3600 for when in self.times) >= self.per_hour:
            return f"{self.per_hour} restarts within an hour (launch.restarts_per_hour)"
        if self.stalled >= LOOP_FAILURES:
            newest = f"step {self.step}" if self.step >= 0 else "none"
            return (
                f"a crash loop: it failed {self.stalled} times in a row, each within"
                f" {SOON_SECONDS / 60:g} minutes and without a new checkpoint (newest: {newest})"
            )
        return ""

    def pause(self) -> float:
        """Seconds until the next start: doubled with each failure that came soon."""
        return min(LONGEST_PAUSE_SECONDS, self.first_pause * 2.0 ** max(0, self.stalled - 1))

    def begin(self) -> None:
        self.started, self.at = time.monotonic(), 0.0
        self.times.append(self.started)


def newest_step(output: Path) -> int:
    """The highest step of a complete checkpoint; -1 where there is none."""
    steps = [
        int(path.parent.name.removeprefix("step-"))
        for path in (output / "checkpoints").glob("step-*/complete.json")
        if path.parent.name.removeprefix("step-").isdigit()
    ]
    return max(steps, default=-1)
