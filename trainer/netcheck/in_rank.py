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

from trainer.netcheck.decision_port import DecisionServer, ask
from trainer.netcheck.process_rank import ProcessRank, process_rank_from

# The controller reads the result within a second; without its go-ahead the run does not start
GO_SECONDS = 120.0
RETRY_SECONDS = 0.02
_START = "start"


def check_network(meeting_seconds: float = GO_SECONDS) -> int:
    """0 when training may begin; else the exit code. Other ranks than the first one give it
    `meeting_seconds` to listen at the training's address, where most programs meet: connecting
    earlier would cost torch a second to retry."""
    process = process_rank_from(os.environ)
    if not os.environ.get("TRAINER_GO"):
        from trainer.netcheck import in_pod

        code = in_pod.check_network()
        if not code and not os.environ.get("TRAINER_GATE_ALONE"):
            _await_first_rank(process, meeting_seconds)
        return code
    result, go = Path(os.environ["TRAINER_GATE"]), Path(os.environ["TRAINER_GO"])
    if go.exists():
        return 0  # an elastic run that restarts has passed before
    code = _measure(result)
    if code:
        return code
    if process.rank == 0:
        return _await_go(go, process)
    port = int(os.environ["TRAINER_GATE_PORT"])
    if ask(process.address, port, process.rank, GO_SECONDS, RETRY_SECONDS) != _START:
        return _given_up("network check passed, but rank 0 did not start")
    _await_first_rank(process, meeting_seconds)
    return 0


def _measure(result: Path) -> int:
    from trainer.netcheck import gate

    before = dict(os.environ)
    os.environ["MASTER_PORT"] = os.environ["TRAINER_GATE_PORT"]
    try:
        # Long timeouts: a lost node is noticed by the supervisors.
        return gate.main(
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


def _await_go(go: Path, process: ProcessRank) -> int:
    """The first rank: once the controller lets it start, it tells the others, then starts."""
    if not _holds_within(GO_SECONDS, go.exists):
        return _given_up("network check passed, but the controller gave no go-ahead")
    if process.size > 1:
        port = int(os.environ["TRAINER_GATE_PORT"])
        DecisionServer(process.address, port, _START, process.size - 1).close(GO_SECONDS)
    return 0


def _await_first_rank(process: ProcessRank, seconds: float) -> None:
    if process.rank:
        _holds_within(seconds, lambda: _listens(process))


def _holds_within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(RETRY_SECONDS)
    return True


def _given_up(problem: str) -> int:
    print(f"trainer: {problem} within {GO_SECONDS:g} s", flush=True)
    return 6


def _listens(process: ProcessRank) -> bool:
    try:
        with socket.create_connection((process.address, process.port), 2):
            return True
    except OSError:
        return False
