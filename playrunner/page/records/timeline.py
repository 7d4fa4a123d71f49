"""A run as lanes, one for each host: bars of what was queued and what ran, in parts of the whole
time."""

from __future__ import annotations

from collections.abc import Sequence

from playrunner.frozen import frozen
from playrunner.page.records.run_steps import BAD, ORDER, StepResult, Steps

WIDTH = 1000.0
MOST_LANES = 100
LEAST = 1.0  # narrower bars of a lane are drawn as one
SLOW_SHARE = 0.1  # of the whole run: such a step is marked as slow


@frozen
class Bar:
    """A step, or several short ones in a row."""

    x: float
    width: float
    status: str  # the worst of them
    text: str
    number: int
    queued: float = 0.0  # how wide the part before it is, in which it was queued
    slow: bool = False


@frozen
class Lane:
    host: str
    bars: tuple[Bar, ...]
    status: str


def lanes(steps: Steps) -> tuple[list[Lane], int]:
    """Lanes with failures first, and how many are left out."""
    total = max(steps.ended - steps.begun, 0.001)
    made = [
        Lane(host, tuple(_bars(results, steps.begun, total)), _worst(results))
        for host, results in steps.by_host().items()
    ]
    made.sort(key=lambda lane: lane.status not in BAD)
    return made[:MOST_LANES], max(0, len(made) - MOST_LANES)


def _bars(results: Sequence[StepResult], begun: float, total: float) -> list[Bar]:
    bars: list[Bar] = []
    for result in sorted(results, key=lambda each: each.ended):
        end = (result.ended - begun) / total * WIDTH
        width = min(end, result.seconds / total * WIDTH)
        queued = min(end - width, result.waited / total * WIDTH)
        if bars and width < LEAST and end - bars[-1].x < 2 * LEAST and result.status not in BAD:
            bars[-1] = _joined(bars[-1], result, end)
            continue
        slow = result.seconds / total >= SLOW_SHARE and result.seconds >= 0.5
        bars.append(
            Bar(
                round(end - width, 2),
                round(max(width, LEAST), 2),
                result.status,
                _text(result, slow),
                result.number,
                round(queued, 2),
                slow,
            )
        )
    return bars


def _joined(bar: Bar, result: StepResult, end: float) -> Bar:
    first = bar.text.split("; ", 1)[0]
    return Bar(
        bar.x,
        round(max(bar.width, end - bar.x, LEAST), 2),
        min(bar.status, result.status, key=_severity),
        f"{first}; and more until {result.step}",
        bar.number,
        bar.queued,
        bar.slow,
    )


def _text(result: StepResult, slow: bool) -> str:
    waited = f", queued {result.waited:.2f} s" if result.waited >= 0.01 else ""
    ahead = ", sent ahead" if result.ahead else ""
    return (
        f"{result.status}: {result.step} ({result.seconds:.2f} s{waited}{ahead}"
        f"{', slow' if slow else ''})"
    )


def _worst(results: Sequence[StepResult]) -> str:
    return min((result.status for result in results), key=_severity, default="ok")


def _severity(status: str) -> int:
    return ORDER.index(status) if status in ORDER else len(ORDER)
