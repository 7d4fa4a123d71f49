"""The network check in a process that will train: measured by all ranks, judged by rank 0 for all
of them, so that training begins without a word from the controller.

TRAINER_GATE_EXPECTED  the expected GBPS,LATENCY_US of links, either of which may be empty
TRAINER_GATE_SIZES     the sizes to measure, where they are not the usual ones
TRAINER_GATE_LIFE      the run's id, kept in the result
"""

from __future__ import annotations

import os
from pathlib import Path

# Long timeouts: a lost node is noticed by the supervisors or the cluster.
_ANSWER_SECONDS, _MEASURE_SECONDS = 20.0, 2.0


def judged(output: Path, port: int, join_seconds: float) -> int:
    """0 when training may begin; else the exit code. The result is in `output`."""
    from trainer.netcheck import gate

    gbps, _, latency_us = os.environ.get("TRAINER_GATE_EXPECTED", "").partition(",")
    options = {
        "--output": str(output),
        "--life": os.environ.get("TRAINER_GATE_LIFE", ""),
        "--seconds": str(_MEASURE_SECONDS),
        "--join-seconds": str(join_seconds),
        "--answer-seconds": str(_ANSWER_SECONDS),
        "--expected-gbps": gbps,
        "--expected-latency-us": latency_us,
        "--sizes": os.environ.get("TRAINER_GATE_SIZES", ""),
    }
    before = dict(os.environ)
    os.environ["MASTER_PORT"] = str(port)
    try:
        given = [word for name, value in options.items() if value for word in (name, value)]
        return gate.main([*given, "--judge"])
    finally:
        os.environ.clear()
        os.environ.update(before)
