"""The gate inside the ranks of a cluster's pods: rank 0 judges the result itself, and all begin or
all end.

TRAINER_GATE names the file for the result, TRAINER_GATE_LIFE the run's id, TRAINER_GATE_EXPECTED
what links should have as GBPS,LATENCY_US, either of which may be empty. The network is proved once
in a life of the run: pods that come back or join later meet without it, since a run that trains
would lose more by the wait than it could gain. With TRAINER_GATE_ALONE that is all, and
TRAINER_GATE_SIZES says which sums are measured.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from trainer.errors import BadInput
from trainer.netcheck.decision_port import Door, ask, free_port
from trainer.netcheck.process_rank import Seat, seat_from

# Patient where nothing is gained by haste: the pods' images and libraries do not load equally fast.
JOIN_SECONDS, ANSWER_SECONDS, MEASURE_SECONDS = 120.0, 20.0, 2.0
_OPEN = "open"


def prove() -> int:
    """0 when training may begin; else the exit code."""
    seat, output = seat_from(os.environ), Path(os.environ["TRAINER_GATE"])
    if os.environ.get("TRAINER_GATE_ALONE"):
        output = (
            Path(os.environ["TRAINER_NODE"]) / output.name
        )  # there is no run that it could be kept with
    if seat.size <= int(os.environ.get("LOCAL_WORLD_SIZE") or 1):
        # An elastic run that begins on one node has no network yet; it is proved when the next one
        # joins
        return 0
    if seat.rank == 0:
        return _lead(seat, output)
    said = ask(seat.address, _door_port(seat), seat.rank, JOIN_SECONDS)
    if not said:
        from trainer.netcheck import gate

        problem = (
            f"{seat.node} (rank {seat.rank}) cannot reach rank 0 at {seat.master} within"
            f" {JOIN_SECONDS:g} s"
        )
        gate.publish(
            {**gate.alone(seat, problem), "seconds": JOIN_SECONDS}, gate.own_name(output, seat.rank)
        )
        return 6
    return 0 if said == _OPEN else _measured(output, int(said) if said.isdecimal() else 0)


def _lead(seat: Seat, output: Path) -> int:
    port = 0 if _proved(output) else free_port(seat.address)
    try:
        door = Door(seat.address, _door_port(seat), str(port) if port else _OPEN, seat.size - 1)
    except OSError as error:
        print(
            f"gate: rank 0 on {seat.node} cannot listen at {seat.master}: {error.strerror}",
            file=sys.stderr,
            flush=True,
        )
        return 6
    try:
        return _measured(output, port) if port else 0
    finally:
        door.shut(0 if port else JOIN_SECONDS)


def _measured(output: Path, port: int) -> int:
    from trainer.netcheck import gate

    gbps, _, latency_us = os.environ.get("TRAINER_GATE_EXPECTED", "").partition(",")
    words = [
        "--output",
        str(output),
        "--judge",
        "--life",
        os.environ.get("TRAINER_GATE_LIFE", ""),
        "--seconds",
        str(MEASURE_SECONDS),
        "--join-seconds",
        str(JOIN_SECONDS),
        "--answer-seconds",
        str(ANSWER_SECONDS),
    ]
    words += [
        *(["--expected-gbps", gbps] if gbps else []),
        *(["--expected-latency-us", latency_us] if latency_us else []),
    ]
    words += (
        ["--sizes", os.environ["TRAINER_GATE_SIZES"]]
        if os.environ.get("TRAINER_GATE_SIZES")
        else []
    )
    before = dict(os.environ)
    os.environ["MASTER_PORT"] = str(port)
    try:
        return gate.main(words)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _door_port(seat: Seat) -> int:
    """Where ranks will meet; beside it where torchrun's own store is there already."""
    return seat.port + (os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True")


def _proved(output: Path) -> bool:
    """Whether it was proved in this life; told by rank 0 alone, whichever pod that is now."""
    try:
        found = json.loads(output.read_text())
        return bool(found["verdict"]["ok"]) and found["life"] == os.environ["TRAINER_GATE_LIFE"]
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError, OSError) as error:
        if isinstance(error, OSError):
            raise BadInput(f"{output} cannot be read: {error.strerror}") from None
        return False  # another life's, or cut short
