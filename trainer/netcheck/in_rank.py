"""The network check (gate) inside the processes that will train: torch is imported once, the
network is checked, then training starts.

TRAINER_GATE names the file for the result, TRAINER_GATE_PORT the port of its rendezvous, and
TRAINER_GO a file that says that the check has passed. In a cluster's pods, where no file of a node
lasts, there is no TRAINER_GO (in_pod.py).
"""

from __future__ import annotations

import os
from pathlib import Path

JOIN_SECONDS = 90.0


def check_network() -> int:
    """0 when training may begin; else the exit code."""
    if not os.environ.get("TRAINER_GO"):
        from trainer.netcheck import in_pod

        return in_pod.check_network()
    from trainer.netcheck.judged import judged

    passed = Path(os.environ["TRAINER_GO"])
    if passed.exists():
        return 0  # an elastic run that restarts
    port = int(os.environ["TRAINER_GATE_PORT"])
    code = judged(Path(os.environ["TRAINER_GATE"]), port, JOIN_SECONDS)
    if not code:
        try:
            passed.touch()
        except OSError:
            pass  # it would be checked once more
    return code
