"""The gate inside the processes that will train: torch is loaded once, the network is proved, then training begins.

TRAINER_GATE names the file for the result, TRAINER_GATE_PORT where the ranks meet for it, and TRAINER_GO a file that says that
whoever launched the run has read the result and lets it go on.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

GO_SECONDS = 120.0  # whoever launched it reads the result within a second; without a word the run does not begin


def prove_network() -> int:
    """0 when training may begin; else the exit code."""
    result, go = Path(os.environ["TRAINER_GATE"]), Path(os.environ["TRAINER_GO"])
    if go.exists():
        return 0  # an elastic run that starts again has proved it before
    from trainer import gate

    before = dict(os.environ)
    os.environ["MASTER_PORT"] = os.environ["TRAINER_GATE_PORT"]
    try:
        # Patient where nothing is gained by haste: a node that is gone is noticed by the keepers.
        code = gate.main(["--output", str(result), "--seconds", "2", "--join-seconds", "90", "--answer-seconds", "20"])
    finally:
        os.environ.clear()
        os.environ.update(before)
    if code or os.environ.get("RANK", "0") != "0":
        return code  # the others meet rank 0 when it begins
    deadline = time.monotonic() + GO_SECONDS
    while not go.exists():
        if time.monotonic() > deadline:
            print(f"trainer: the network was proved, but nobody said go within {GO_SECONDS:g} s", flush=True)
            return 6
        time.sleep(0.02)
    return 0
