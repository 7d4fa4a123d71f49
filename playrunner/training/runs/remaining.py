"""How long a run still takes, by the pace of its last steps."""

from __future__ import annotations

import itertools
import statistics

from playrunner.training.runs.run import Run
from playrunner.training.runs.stall import stalled_for


def seconds_left(run: Run, now: float) -> float | None:
    """None where it is not known: it takes no steps, or only its script knows how many."""
    steps = run.steps_in_all
    if run.state != "running" or not steps or stalled_for(run.metrics, now):
        return None
    points = [
        (int(each["step"]), float(each["time"]))
        for each in run.metrics
        if isinstance(each.get("time"), int | float)
    ]
    # The middle one: between two of them the run may have been stopped
    paces = [
        (time - before_time) / (step - before)
        for (before, before_time), (step, time) in itertools.pairwise(points)
        if step > before and time >= before_time
    ]
    if not paces:
        return None
    return max(0.0, statistics.median_low(paces) * (steps - points[-1][0]))
