"""Curves of at most about a thousand points: of each stretch the lowest and the highest, so that no
spike is lost."""

from __future__ import annotations

import math
from typing import Any

from playrunner.page.records.metrics_file import MetricsFile

MOST_POINTS = 1000
SERIES = {
    "loss": "loss",
    "eval_loss": "loss on evaluation data",
    "lr": "learning rate",
    "tokens_per_second": "tokens/s",
    "memory_mib": "memory (MiB)",
    "grad_norm": "gradient norm",
    "mfu": "model FLOPs utilisation",
    "step_seconds": "seconds per step",
}
Points = dict[str, list[float | None]]


def curves(metrics: MetricsFile, since: int = 0, most: int = MOST_POINTS) -> dict[str, Points]:
    """Series by name, each with steps `x`, clock times `t` and values `y`; empty ones are left
    out."""
    steps, times = metrics.columns["step"], metrics.columns["time"]
    series: dict[str, Points] = {}
    for name in SERIES:
        if name not in metrics.filled:
            continue
        values = metrics.columns[name]
        # A number that is not itself is no number; asked in this way it is quick
        rows = [row for row in range(since, len(values)) if values[row] == values[row]]
        if rows:
            kept = thinned(rows, values, most)
            series[name] = {
                "x": [steps[row] for row in kept],
                "t": [None if math.isnan(times[row]) else times[row] for row in kept],
                "y": [values[row] for row in kept],
            }
    return series


def thinned(rows: list[int], values: Any, most: int) -> list[int]:
    """Rows in their order: the first and the last, the lowest and the highest of each stretch."""
    if len(rows) <= most:
        return rows
    stretches = max(1, (most - 2) // 2)
    kept = {rows[0], rows[-1]}
    for number in range(stretches):
        begin, end = (each * len(rows) // stretches for each in (number, number + 1))
        part = rows[begin : max(end, begin + 1)]
        kept.add(min(part, key=values.__getitem__))
        kept.add(max(part, key=values.__getitem__))
    return sorted(kept)


def spark(metrics: MetricsFile, width: float = 120.0, height: float = 24.0) -> str:
    """The loss as the points of a small polyline; empty when there is nothing to draw."""
    points = curves(metrics, most=60).get("loss")
    if not points or len(points["x"]) < 2:
        return ""
    xs = [float(x or 0) for x in points["x"]]
    ys = [float(y or 0) for y in points["y"]]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    return " ".join(
        f"{(x - min(xs)) / wide * width:.1f},{(max(ys) - y) / high * (height - 2) + 1:.1f}"
        for x, y in zip(xs, ys, strict=True)
    )
