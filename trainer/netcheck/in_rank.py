"""The gate inside the processes that will train: torch is loaded once, the network is proved, then
training begins.

TRAINER_GATE names the file for the result, TRAINER_GATE_PORT where the ranks meet for it, and
TRAINER_GO a file that says that whoever launched the run has read the result and lets it go on.
Without TRAINER_GO the ranks judge for themselves (gate_pod.py).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

# Whoever launched it reads the result within a second; without a word the run does not begin
GO_SECONDS = 120.0


def prove_network() -> int:
    """0 when training may begin; else the exit code."""
    if not os.environ.get("TRAINER_GO"):
        from trainer.netcheck.in_pod import prove

        return prove() or (0 if os.environ.get("TRAINER_GATE_ALONE") else _await_first_rank())
    result, go = Path(os.environ["TRAINER_GATE"]), Path(os.environ["TRAINER_GO"])
    if go.exists():
        return 0  # an elastic run that starts again has proved it before
    from trainer.netcheck import gate

    before = dict(os.environ)
    os.environ["MASTER_PORT"] = os.environ["TRAINER_GATE_PORT"]
    try:
        # Patient where nothing is gained by haste: a node that is gone is noticed by the keepers.
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
        return _await(go.exists, "the network was proved, but nobody said go")
    return _await_first_rank()


def _await_first_rank() -> int:
    """Rank 0 listens once it was let go; asked earlier, torch would wait a second before it asks
    again."""
    return (
        0
        if os.environ.get("RANK", "0") == "0"
        else _await(_first_rank_listens, "rank 0 did not begin")
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
