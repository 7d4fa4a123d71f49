"""Seconds per step of each rank over the run, as the rows and columns of a heat strip."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from statistics import median
from typing import Any

from playrunner.frozen import frozen

MOST_COLUMNS, MOST_ROWS = 200, 128  # that a browser is sent
MOST_FIGURES = 4096  # of one comparison; the trainer writes fewer


@frozen
class Comparison:
    """What one line of the metrics says of all ranks."""

    step: int
    each: int  # ranks that a figure stands for, by the slowest of them
    seconds: Sequence[float]


class RankHeat:
    """Grows with the metrics; of many neighbours two become one, with the slower of each rank."""

    def __init__(self) -> None:
        self.columns: list[Comparison] = []
        self.count = 0  # comparisons that were read

    def add(self, step: int, ranks: Any) -> None:
        """What a host wrote that is no comparison is passed over."""
        if not isinstance(ranks, dict):
            return
        seconds: Any = ranks.get("seconds")
        each: Any = ranks.get("each")
        if not isinstance(seconds, list) or not 0 < len(seconds) <= MOST_FIGURES:
            return
        if not all(map(_is_duration, seconds)) or not _is_duration(each) or not 1 <= each < 1e6:
            return
        self.count += 1
        self.columns.append(Comparison(step, int(each), array("f", seconds)))
        if len(self.columns) > 2 * MOST_COLUMNS:
            self.columns = _halved(self.columns)

    def as_data(self) -> dict[str, Any] | None:
        """Steps, names of rows and seconds by row, with a sentence; nothing without two ranks."""
        columns = _halved(self.columns) if len(self.columns) > MOST_COLUMNS else self.columns
        figures = max((len(column.seconds) for column in columns), default=0)
        if figures < 2:
            return None
        joined = -(-figures // MOST_ROWS)
        each = columns[-1].each * joined
        rows = [_grouped(column.seconds, joined) for column in columns]
        return {
            "steps": [column.step for column in columns],
            "rows": [_row_name(first * each, each) for first in range(-(-figures // joined))],
            "seconds": [
                [row[number] if number < len(row) else None for row in rows]
                for number in range(-(-figures // joined))
            ],
            "text": _summary(rows, each),
            "count": self.count,
        }


def _halved(columns: list[Comparison]) -> list[Comparison]:
    pairs = [columns[first : first + 2] for first in range(0, len(columns), 2)]
    return [_slower(*pair) if len(pair) == 2 else pair[0] for pair in pairs]


def _slower(left: Comparison, right: Comparison) -> Comparison:
    """Of two numbers of ranks, as after a restart with more nodes, the newer one counts."""
    if (left.each, len(left.seconds)) != (right.each, len(right.seconds)):
        return right
    return Comparison(left.step, left.each, array("f", map(max, left.seconds, right.seconds)))


def _grouped(seconds: Sequence[float], joined: int) -> list[float]:
    return [
        float(f"{max(seconds[first : first + joined]):.3g}")
        for first in range(0, len(seconds), joined)
    ]


def _row_name(first: int, each: int) -> str:
    return f"{first}-{first + each - 1}" if each > 1 else str(first)


def _summary(rows: list[list[float]], each: int) -> str:
    """Which rank is the slowest most often, and by how much at worst."""
    slowest: dict[int, float] = {}
    times: dict[int, int] = {}
    for row in rows:
        number = max(range(len(row)), key=row.__getitem__)
        others = median(row[:number] + row[number + 1 :]) if len(row) > 1 else 0.0
        if others and row[number] >= 1.2 * others:
            times[number] = times.get(number, 0) + 1
            slowest[number] = max(slowest.get(number, 0.0), row[number] / others)
    if not times:
        return "no rank is much slower than the others"
    number = max(times, key=times.__getitem__)
    return (
        f"rank {_row_name(number * each, each)} was the slowest in {times[number]} of {len(rows)}"
        f" comparisons, at worst {slowest[number]:.1f} times the others"
    )


def _is_duration(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value < 1e9
        and math.isfinite(value)
    )
