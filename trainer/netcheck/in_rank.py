"""The network check (gate) inside the processes that will train: torch is imported once, the
network is checked, then training starts.

TRAINER_GATE names the file for the result, TRAINER_GATE_PORT the port of its rendezvous, and
TRAINER_GO a file by which the controller, having read the result, lets training start. Without
TRAINER_GO the ranks judge the result themselves (in_pod.py).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

# The controller reads the result within a second; without its go-ahead the run does not start
GO_SECONDS = 120.0


def check_network() -> int:
    """0 when training may begin; else the exit code."""
    if not os.environ.get("TRAINER_GO"):
        from trainer.netcheck import in_pod

        return in_pod.check_network() or (
            0 if os.environ.get("TRAINER_GATE_ALONE") else _await_first_rank()
        )
    result, go = Path(os.environ["TRAINER_GATE"]), Path(os.environ["TRAINER_GO"])
    if go.exists():
        return 0  # an elastic run that restarts has passed before
    from trainer.netcheck import gate

    before = dict(os.environ)
    os.environ["MASTER_PORT"] = os.environ["TRAINER_GATE_PORT"]
    try:
        # Long timeouts: a lost node is noticed by the supervisors.
        code = gate.main(
            [
                "--output",
                str(result),
                "--seconds",
                "2",
                "--join-seconds",
                "90",
                "--answer-seconds",
                "20",
            ]
        )
    finally:
        os.environ.clear()
        os.environ.update(before)
    if code:
        return code
    if os.environ.get("RANK", "0") == "0":
        return _await(go.exists, "network check passed, but the controller gave no go-ahead")
    return _await_first_rank()


def _await_first_rank() -> int:
    """Rank 0 listens once it may start; connecting earlier would cost torch a second to retry."""
    return (
        0
        if os.environ.get("RANK", "0") == "0"
        else _await(_first_rank_listens, "network check passed, but rank 0 did not start")
    )


def _await(holds: Callable[[], bool], otherwise: str) -> int:
    deadline = time.monotonic() + GO_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            print(f"trainer: {otherwise} within {GO_SECONDS:g} s", flush=True)
            return 6
        time.sleep(0.02)
    return 0


def _first_rank_listens() -> bool:
    try:
        with socket.create_connection(
            (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 2
        ):
            return True
    except OSError:
        return False
