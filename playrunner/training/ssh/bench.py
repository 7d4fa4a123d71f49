"""train.bench: the network between nodes, measured and judged, with nothing trained."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.fleet import Fleet
from playrunner.text.documents import json_object
from playrunner.training.code_staging import stage_code
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.rank_processes import Voice, hear_all
from playrunner.training.netcheck.verdict import Expected, Verdict, judge, table
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh import preflight
from playrunner.training.ssh.hosts import open_fleet, usable_hosts
from playrunner.training.ssh.job import Job, Seat
from playrunner.training.ssh.plan import Request, environment_of, plan, read_request, refuse
from trainer.config import Profile

DEFAULT_PROFILE = "gpt2-micro-smoke"  # only its processes per node and its device count here
SIZES = "4096,65536,1048576,16777216"
MEASURE_SECONDS, JOIN_SECONDS = 6.0, 30.0
LIMIT_SECONDS = 150.0  # joining, measuring, and every message that waits for an answer in vain
CLOSED = 6


class NoResult(PlayrunnerError):
    """Nobody could say how the network is."""

    exit_code = CLOSED


def bench(request: Request, options: Options) -> int:
    profile = read_request(replace(request, profile=request.profile or DEFAULT_PROFILE))
    with open_fleet(options, request.nodes) as fleet:
        count = request.nodes or (
            profile.launch.nodes if request.profile else len(usable_hosts(fleet, options))
        )
        job = job_on_nodes(replace(request, nodes=count, name="bench"), profile, fleet, options)
        facts = preflight.look(fleet, job)
        job = preflight.with_free_ports(job, facts)
        refuse(preflight.complaints(job, facts, time.time()), "preflight")
        result, verdict = prove(fleet, job, environment_of(job, fleet, facts))
    if options.json:
        print_json({"result": result, "verdict": asdict(verdict)})
    else:
        print(table(result))
        print("\n".join(verdict.lines))
    return 0 if verdict.ok else CLOSED


def prove(
    fleet: Fleet, job: Job, environment: Sequence[Variable]
) -> tuple[dict[str, Any], Verdict]:
    """The gate by itself: what was measured, and what that means."""
    codes = stage_code(fleet, {seat.host: seat.root for seat in job.seats})
    result = _measured(fleet, job, codes, environment)
    first = job.master.host
    expected = Expected(
        fleet.variable(first, "train_expected_gbps"),
        fleet.variable(first, "train_expected_latency_us"),
    )
    return result, judge(result, expected)


def job_on_nodes(
    request: Request,
    profile: Profile,
    fleet: Fleet,
    options: Options,
    slots: Mapping[str, int] | None = None,
) -> Job:
    """A job on those nodes; its batches are made to fit any number of them, since none is trained."""
    hosts = usable_hosts(fleet, options)[: request.nodes]
    given = slots or {
        host: int(fleet.variable(host, "train_slots", profile.launch.processes_per_node))
        for host in hosts
    }
    train = replace(
        profile.train,
        batch_size=profile.train.device_batch_size * max(1, sum(given.values())),
        fast=replace(profile.train.fast, cuda_graphs=False),
    )
    launch = replace(
        profile.launch,
        nodes=request.nodes,
        min_nodes=0,
        processes_per_node=max([*given.values(), 1]),
    )
    return plan(
        replace(request, launcher="direct"),
        replace(profile, launch=launch, train=train),
        fleet,
        options,
    )


def _measured(
    fleet: Fleet, job: Job, codes: dict[str, str], environment: Sequence[Variable]
) -> dict[str, Any]:
    """Every rank's process at once; rank 0 tells for all, and another one only when it could not be
    reached."""
    parts = [
        (seat.host, _command(job, seat, local, codes[seat.host], environment))
        for seat in job.seats
        for local in range(seat.slots)
    ]
    return _verdict_of(hear_all(fleet, parts, LIMIT_SECONDS, lambda voice: bool(_result(voice))))


def _command(job: Job, seat: Seat, local: int, code: str, environment: Sequence[Variable]) -> str:
    """The gate with its variables, in a folder of its own that is gone afterwards."""
    names = [each.host for each in job.seats for _ in range(each.slots)]
    place = {
        "RANK": seat.first_rank + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.gate_port,
        "NODE_NAME": seat.host,
        "GATE_NODES": ",".join(names),
    }
    # A secret on a command line can be read by everybody on the node, and measuring needs none.
    plain = {each.name: each.value for each in environment if not each.secret}
    words = [f"{name}={shlex.quote(str(value))}" for name, value in {**plain, **place}.items()]
    gate = (
        f"PYTHONPATH={in_shell(code)} {' '.join(words)} {in_shell(seat.python)} -m"
        " trainer.node.exit_with_parent trainer.netcheck.gate"
        f' --output "$scratch/gate.json" --sizes {SIZES} --seconds {MEASURE_SECONDS:g}'
        f" --join-seconds {JOIN_SECONDS:g}"
    )
    script = (
        f'scratch=$(mktemp -d) || exit 5; cd "$scratch"; {gate}; code=$?; rm -rf "$scratch"; exit'
        " $code"
    )
    return f"exec /bin/sh -c {shlex.quote(script)}"


def _verdict_of(voices: Sequence[Voice]) -> dict[str, Any]:
    for voice in voices:
        if result := _result(voice):
            return result
    said = [
        f"{voice.host} (rank {voice.rank}): {voice.last_words}"
        for voice in voices
        if voice.err or voice.code > 0
    ]
    told = "; ".join(dict.fromkeys(said)) or f"no result in {LIMIT_SECONDS:g} s"
    raise NoResult(f"the network could not be measured: {told}")


def _result(voice: Voice) -> dict[str, Any] | None:
    line = next((line for line in voice.out.splitlines() if line.startswith("GATE {")), "")
    return json_object(line.removeprefix("GATE "))
