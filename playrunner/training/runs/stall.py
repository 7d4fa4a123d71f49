"""Whether a run that should take steps takes none: silence is compared with its usual pace."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

PACE = 3  # metrics that tell how fast a run usually is
LEAST_SECONDS = 30.0
USUAL_TIMES = 4.0  # an evaluation or a checkpoint between two steps is no stall


def stalled_for(metrics: Sequence[dict[str, Any]], now: float) -> float:
    """Seconds since the last step, where that is much longer than between those before; else 0."""
    times = [float(each["time"]) for each in metrics if isinstance(each.get("time"), int | float)]
    if len(times) < 2:
        return 0.0
    usual = max(after - before for before, after in itertools.pairwise(times))
    silence = now - times[-1]
    return silence if silence > max(LEAST_SECONDS, USUAL_TIMES * usual) else 0.0
