"""A run on the terminal: one live line while it trains, a small chart of the loss when it is
done."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from playrunner.output.terminal import Terminal

_DOTS = (
    (0x01, 0x08),
    (0x02, 0x10),
    (0x04, 0x20),
    (0x40, 0x80),
)  # braille, by row and column of a cell


class LiveLine:
    """The newest metrics: overwritten in place on a terminal, a line each elsewhere."""

    def __init__(self, steps: int, quiet: bool = False) -> None:
        self.steps, self.quiet = steps, quiet
        self.minutes = 0.0  # train.minutes: a run may end before its last step
        self.terminal = Terminal(sys.stderr)
        self.begun = time.monotonic()
        self.first: tuple[float, int] | None = None
        # Told beside the terminal, with the kind of event
        self.notify: Callable[[str, str], None] = lambda event, text: None

    def waiting(self, what: str) -> None:
        if not self.quiet:
            self.terminal.live(f"{what} ({time.monotonic() - self.begun:.0f} s)")

    def metrics(self, record: dict[str, Any]) -> None:
        if self.first is None:
            self.first = (time.monotonic(), int(record["step"]))
        if self.quiet:
            return
        # A run that ends by time writes how many steps it takes once it knows
        self.steps = int(record.get("last_step") or self.steps)
        text = described(record, self.steps, self._remaining(int(record["step"])))
        if self.terminal.is_screen:
            self.terminal.live(text)
        else:
            self.terminal.line(text)

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self.end()
            self.terminal.line(text)

    def end(self) -> None:
        self.terminal.keep()

    def _remaining(self, step: int) -> float | None:
        assert self.first
        since, from_step = self.first
        taken = step - from_step
        if taken <= 0 or not self.steps:
            return None
        gone = time.monotonic() - since
        by_steps = gone / taken * (self.steps - step)
        return min(by_steps, max(0.0, 60 * self.minutes - gone)) if self.minutes else by_steps


def described(record: dict[str, Any], steps: int, remaining: float | None = None) -> str:
    rate = record.get("tokens_per_second")
    of = f"/{steps}" if steps else ""  # only the user's own script may know how many
    parts = [f"step {record['step']}{of}", f"loss {record['loss']:.4f}"]
    if (evaluated := evaluation(record)) is not None:
        parts.append(f"evaluation {evaluated:.4f}")
    if rate:
        parts.append(f"{_short(rate)} tokens/s")
    if record.get("mfu"):
        parts.append(f"MFU {100 * record['mfu']:.1f} %")
    if remaining is not None and record["step"] < steps:
        parts.append(f"about {duration(remaining)} left")
    return "  ".join(parts)


def evaluation(record: dict[str, Any]) -> float | None:
    """The newest validation loss, where the run has one."""
    value = record.get("eval_loss")
    return float(value) if isinstance(value, int | float) else None


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def loss_chart(records: Sequence[dict[str, Any]], width: int = 60, height: int = 8) -> str:
    """The loss over steps, drawn with dots; empty when there is nothing to draw a line through."""
    points = [
        (float(each["step"]), float(each["loss"]))
        for each in records
        if each.get("loss") is not None
    ]
    if len(points) < 2:
        return ""
    (left, right), (low, high) = _span([x for x, _ in points]), _span([y for _, y in points])
    cells = [[0] * width for _ in range(height)]
    for x, y in _between(points, 2 * width):
        column = min(2 * width - 1, round((x - left) / (right - left) * (2 * width - 1)))
        row = min(4 * height - 1, round((high - y) / (high - low) * (4 * height - 1)))
        cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    rows = ["".join(chr(0x2800 + dots) for dots in cells_of_row) for cells_of_row in cells]
    labels = [f"{high:.3f}", *[""] * (height - 2), f"{low:.3f}"]
    margin = max(map(len, labels))
    drawn = [f"{label:>{margin}} ┤{row}" for label, row in zip(labels, rows, strict=True)]
    axis = f"{'':>{margin}} └{'─' * width}"
    ends = f"{'':>{margin}}  {f'step {left:g}':<{width // 2}}{f'{right:g}':>{width - width // 2}}"
    return "\n".join([*drawn, axis, ends])


def _span(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _between(points: Sequence[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """The points and a straight line from each to the next, so that few points still make a
    curve."""
    between = []
    steps = max(1, 2 * count // len(points))
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        between += [
            (x1 + (x2 - x1) * part / steps, y1 + (y2 - y1) * part / steps) for part in range(steps)
        ]
    return [*between, points[-1]]


def _short(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
