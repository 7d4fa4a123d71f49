"""The network check (gate) inside the ranks of a cluster's pods: rank 0 judges the result itself,
and all ranks train or all exit.

TRAINER_GATE names the file for the result, TRAINER_GATE_LIFE the run's id (judged.py has the other
variables). The network is checked once per launch of the run: pods that restart or join later skip
it, since the check would cost a training run more than it gains. With TRAINER_GATE_ALONE there is
no training after it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from trainer.errors import BadInput
from trainer.netcheck.decision_port import DecisionServer, ask, free_port
from trainer.netcheck.judged import judged
from trainer.netcheck.process_rank import ProcessRank, process_rank_from

# Long timeouts: the pods' images and libraries do not load equally fast.
JOIN_SECONDS = 120.0
_TRAIN = "open"  # the decision when the network was checked before


def check_network() -> int:
    """0 when training may begin; else the exit code."""
    process, output = process_rank_from(os.environ), Path(os.environ["TRAINER_GATE"])
    if os.environ.get("TRAINER_GATE_ALONE"):
        output = Path(os.environ["TRAINER_NODE"]) / output.name  # there is no run to keep it with
    if process.size <= int(os.environ.get("LOCAL_WORLD_SIZE") or 1):
        # An elastic run that starts on one node has no network yet; the next node to join checks it
        return 0
    if process.rank == 0:
        return _check_as_first(process, output)
    decision = ask(process.address, _decision_port(process), process.rank, JOIN_SECONDS)
    if not decision:
        from trainer.netcheck import gate

        problem = (
            f"{process.node} (rank {process.rank}) cannot reach rank 0 at {process.master} within"
            f" {JOIN_SECONDS:g} s"
        )
        gate.publish(
            {**gate.failed_result(process, problem), "seconds": JOIN_SECONDS},
            gate.rank_file(output, process.rank),
        )
        return 6
    if decision == _TRAIN:
        return 0
    return judged(output, int(decision) if decision.isdecimal() else 0, JOIN_SECONDS)


def _check_as_first(process: ProcessRank, output: Path) -> int:
    port = 0 if _has_passed(output) else free_port(process.address)
    try:
        server = DecisionServer(
            process.address,
            _decision_port(process),
            str(port) if port else _TRAIN,
            process.size - 1,
        )
    except OSError as error:
        print(
            f"gate: network check could not run: rank 0 on {process.node} cannot listen at"
            f" {process.master}: {error.strerror}",
            file=sys.stderr,
            flush=True,
        )
        return 6
    try:
        return judged(output, port, JOIN_SECONDS) if port else 0
    finally:
        server.close(0 if port else JOIN_SECONDS)


def _decision_port(process: ProcessRank) -> int:
    """The training's rendezvous port; the next one where torchrun's own store listens there."""
    return process.port + (os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True")


def _has_passed(output: Path) -> bool:
    """Whether the check has passed in this launch of the run; only rank 0 decides that."""
    try:
        result = json.loads(output.read_text())
        return bool(result["verdict"]["ok"]) and result["life"] == os.environ["TRAINER_GATE_LIFE"]
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError, OSError) as error:
        if isinstance(error, OSError):
            raise BadInput(f"{output} cannot be read: {error.strerror}") from None
        return False  # of another launch, or incomplete
