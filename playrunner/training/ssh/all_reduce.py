"""Bandwidth between hosts of an inventory: all_reduce_perf under mpirun where nccl-tests is
installed, else our own measure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from playrunner.errors import PlayrunnerError
from playrunner.ssh.fleet import Fleet
from playrunner.training.code_staging import stage_code
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.rank_processes import Voice, hear_all
from playrunner.training.netcheck.sizes import Sizes
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh.job import Job, Seat

PROGRAM = "/opt/nccl-tests/build/all_reduce_perf"  # where the image has it
LIMIT_SECONDS = 1800.0  # sixteen gigabytes a hundred times on a slow network


class NotMeasured(PlayrunnerError):
    """The programs that measure did not run."""

    exit_code = 6


def measure(
    fleet: Fleet, job: Job, environment: Sequence[Variable], on_gpus: bool, sizes: Sizes
) -> str:
    """What the programs printed."""
    if on_gpus and _has_nccl_tests(fleet, job):
        voices = hear_all(
            fleet,
            [(job.master.host, _mpirun(job, environment, sizes))],
            LIMIT_SECONDS,
            lambda voice: False,
        )
    else:
        codes = stage_code(fleet, {seat.host: seat.root for seat in job.seats})
        parts = [
            (seat.host, _own(job, seat, local, codes[seat.host], environment, on_gpus, sizes))
            for seat in job.seats
            for local in range(seat.slots)
        ]
        voices = hear_all(fleet, parts, LIMIT_SECONDS, lambda voice: voice.done.is_set())
    return _said(voices)


def _has_nccl_tests(fleet: Fleet, job: Job) -> bool:
    """On all nodes, with an mpirun on the first."""
    program = str(fleet.variable(job.master.host, "nccl_tests", PROGRAM))
    there = fleet.ask(
        [seat.host for seat in job.seats], "host.stat", lambda host: {"path": program}
    )
    return all(said.get("stat", {}).get("exists") for said in there.values())


def _mpirun(job: Job, environment: Sequence[Variable], sizes: Sizes) -> str:
    """The smoke test of the image: one rank for each GPU, sums checked."""
    hosts = ",".join(f"{seat.address}:{seat.slots}" for seat in job.seats)
    exported = [
        word
        for each in environment
        if not each.secret
        for word in ("-x", f"{each.name}={each.value}")
    ]
    words = [
        "mpirun",
        "--allow-run-as-root",
        "--tag-output",
        "-np",
        str(job.world_size),
        "--host",
        hosts,
        *exported,
        "-x",
        "NCCL_DEBUG=INFO",
        PROGRAM,
        *sizes.flags(True),
        "-g",
        "1",
        "-c",
        "1",
    ]
    return f"exec {shlex.join(words)}"


def _own(
    job: Job,
    seat: Seat,
    local: int,
    code: str,
    environment: Sequence[Variable],
    on_gpus: bool,
    sizes: Sizes,
) -> str:
    place = {
        "RANK": seat.first_rank + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "NODE_NAME": seat.host,
        "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.gate_port,
        "NCCL_DEBUG": "INFO",
    }
    # A secret on a command line can be read by everybody on the node, and measuring needs none.
    plain = {each.name: each.value for each in environment if not each.secret}
    words = " ".join(
        f"{name}={shlex.quote(str(value))}" for name, value in {**plain, **place}.items()
    )
    flags = shlex.join(sizes.flags(on_gpus))
    return (
        f"PYTHONPATH={in_shell(code)} {words} exec {in_shell(seat.python)} -m"
        f" trainer.node.exit_with_parent trainer.netcheck.all_reduce_perf {flags}"
    )


def _said(voices: Sequence[Voice]) -> str:
    if "#" in voices[0].out:
        return voices[0].out + voices[0].err
    told = "; ".join(
        dict.fromkeys(
            f"{voice.host}: {voice.last_words}" for voice in voices if voice.err or voice.code > 0
        )
    )
    raise NotMeasured(
        f"the bandwidth could not be measured: {told or f'no word in {LIMIT_SECONDS:g} s'}"
    )
