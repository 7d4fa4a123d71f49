"""What a launch prints: a line for each phase, with the time it took. Its steps are in the record,
and on the terminal with --verbose."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playrunner.options import Options
from playrunner.project import program
from playrunner.training.screen.screen import LiveLine


class Phases:
    def __init__(self, line: LiveLine) -> None:
        self._line, self._begun = line, time.monotonic()

    def done(self, text: str) -> None:
        """A phase ends here, and the next begins."""
        now = time.monotonic()
        self._line.say(f"{text} ({now - self._begun:.1f} s)")
        self._begun = now


def step_options(options: Options) -> Options:
    """How the steps of a launch are shown: each with --verbose, --check or --diff, else only those
    that fail."""
    shown = options.verbose or options.check or options.diff
    return replace(options, limit="", json=False, quiet=options.json or not shown)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def reached(metrics: Sequence[dict[str, Any]], checkpoints: Sequence[str]) -> str:
    """How far a run came that ended early: `at step 70, loss 3.1; its newest checkpoint is step-60
    (10 steps lost)`."""
    saved = checkpoints[-1] if checkpoints else ""
    where = f"its newest checkpoint is {saved}" if saved else "it has no checkpoint"
    if not metrics:
        return f"before its first step; {where}"
    step = int(metrics[-1]["step"])
    number = re.search(r"(\d+)\D*$", saved)
    lost = step - int(number[1]) if number else 0
    text = f" ({count(lost, 'step')} lost)" if lost > 0 else ""
    return f"at step {step}, loss {metrics[-1]['loss']:.4f}; {where}{text}"


def resume_line(name: str) -> str:
    return f"it goes on with: {program()} train.resume --name {name}"
