"""train.bench: the network between nodes, measured and judged, with nothing trained."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from playrunner.cli import print_json
from playrunner.connection import Channel
from playrunner.errors import PlayrunnerError
from playrunner.fleet import Fleet
from playrunner.options import Options
from roles.training.environment.variable import Variable
from roles.training.hosts import open_fleet, training_hosts
from roles.training.network.verdict import Expected, judge, table
from roles.training.planning import preflight
from roles.training.planning.job import Job, Seat
from roles.training.planning.plan import Request, environment_of, plan, read_request, refuse
from roles.training.planning.shell import in_shell
from roles.training.planning.staging import stage_code
from trainer.config import Profile

DEFAULT_PROFILE = "gpt2-micro-smoke"  # only its processes per node and its device count here
SIZES = "4096,65536,1048576,16777216"
MEASURE_SECONDS, JOIN_SECONDS = 6.0, 30.0
LIMIT_SECONDS = 150.0  # joining, measuring, and every message that waits for an answer in vain
CLOSED = 6


class NoResult(PlayrunnerError):
    """Nobody could say how the network is."""

    exit_code = CLOSED


@dataclass
class Voice:
    """What one process of the gate says."""

    rank: int
    host: str
    channel: Channel | None = None
    out: str = ""
    err: str = ""
    code: int = -1
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def result(self) -> dict[str, Any] | None:
        line = next((line for line in self.out.splitlines() if line.startswith("GATE {")), "")
        found: dict[str, Any] | None = json.loads(line.removeprefix("GATE ")) if line else None
        return found


def bench(request: Request, options: Options) -> int:
    profile = read_request(replace(request, profile=request.profile or DEFAULT_PROFILE))
    with open_fleet(options, request.nodes) as fleet:
        count = request.nodes or (profile.launch.nodes if request.profile else len(training_hosts(fleet, options)))
        job = _job(replace(request, nodes=count, name="bench"), profile, fleet, options)
        facts = preflight.look(fleet, job)
        job = preflight.with_free_ports(job, facts)
        refuse(preflight.complaints(job, facts, time.time()), "preflight")
        codes = stage_code(fleet, {seat.host: seat.root for seat in job.seats})
        result = _measured(fleet, job, codes, environment_of(job, fleet, facts))
        first = job.master.host
        expected = Expected(fleet.variable(first, "train_expected_gbps"), fleet.variable(first, "train_expected_latency_us"))
    verdict = judge(result, expected)
    if options.json:
        print_json({"result": result, "verdict": asdict(verdict)})
    else:
        print(table(result))
        print("\n".join(verdict.lines))
    return 0 if verdict.ok else CLOSED


def _job(request: Request, profile: Profile, fleet: Fleet, options: Options) -> Job:
    """A job on those nodes; its batches are made to fit any number of them, since none is trained."""
    hosts = training_hosts(fleet, options)[:request.nodes]
    slots = sum(int(fleet.variable(host, "train_slots", profile.launch.processes_per_node)) for host in hosts)
    train = replace(profile.train, batch_size=profile.train.device_batch_size * max(1, slots),
                    fast=replace(profile.train.fast, cuda_graphs=False))
    launch = replace(profile.launch, nodes=request.nodes, min_nodes=0)
    return plan(replace(request, launcher="direct"), replace(profile, launch=launch, train=train), fleet, options)


def _measured(fleet: Fleet, job: Job, codes: dict[str, str], environment: Sequence[Variable]) -> dict[str, Any]:
    """Every rank's process at once; rank 0 tells for all, and another one only when it could not be reached."""
    voices = [Voice(seat.first_rank + local, seat.host) for seat in job.seats for local in range(seat.slots)]
    threads = []
    for seat in job.seats:
        for local in range(seat.slots):
            voice = voices[seat.first_rank + local]
            command = _command(job, seat, local, codes[seat.host], environment)
            threads.append(threading.Thread(target=_hear, args=(fleet, voice, command), daemon=True))
    try:
        for thread in threads:
            thread.start()
        _wait(voices)
    finally:
        for voice in voices:
            if voice.channel:
                voice.channel.close()
    return _verdict_of(voices)


def _wait(voices: Sequence[Voice]) -> None:
    """Until all are done; once rank 0 has spoken, the others have nothing to add."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline and not voices[0].result and not all(voice.done.is_set() for voice in voices):
        voices[0].done.wait(0.1)
    voices[0].done.wait(2.0)


def _hear(fleet: Fleet, voice: Voice, command: str) -> None:
    try:
        channel = voice.channel = fleet.start(voice.host, command)
        parts = b""
        while data := channel.receive():
            parts += data
            voice.out = parts.decode(errors="replace")
        voice.err = channel.complaints()
        voice.code = channel.status()
    except (PlayrunnerError, OSError, EOFError) as error:
        voice.err = str(error)
    finally:
        voice.done.set()


def _command(job: Job, seat: Seat, local: int, code: str, environment: Sequence[Variable]) -> str:
    """The gate with its variables, in a folder of its own that is gone afterwards."""
    names = [each.host for each in job.seats for _ in range(each.slots)]
    place = {
        "RANK": seat.first_rank + local, "LOCAL_RANK": local, "WORLD_SIZE": job.world_size, "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.gate_port, "NODE_NAME": seat.host, "GATE_NODES": ",".join(names)}
    # A secret on a command line can be read by everybody on the node, and measuring needs none.
    plain = {each.name: each.value for each in environment if not each.secret}
    words = [f"{name}={shlex.quote(str(value))}" for name, value in {**plain, **place}.items()]
    gate = (f"PYTHONPATH={in_shell(code)} {' '.join(words)} {in_shell(seat.python)} -m trainer.node.tethered trainer.gate"
            f' --output "$scratch/gate.json" --sizes {SIZES} --seconds {MEASURE_SECONDS:g} --join-seconds {JOIN_SECONDS:g}')
    script = f'scratch=$(mktemp -d) || exit 5; cd "$scratch"; {gate}; code=$?; rm -rf "$scratch"; exit $code'
    return f"exec /bin/sh -c {shlex.quote(script)}"


def _verdict_of(voices: Sequence[Voice]) -> dict[str, Any]:
    for voice in voices:
        if voice.result:
            return voice.result
    said = [f"{voice.host} (rank {voice.rank}): {_last(voice)}" for voice in voices if voice.err or voice.code > 0]
    told = "; ".join(dict.fromkeys(said)) or f"no result in {LIMIT_SECONDS:g} s"
    raise NoResult(f"the network could not be measured: {told}")


def _last(voice: Voice) -> str:
    lines = [line for line in voice.err.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"ended with code {voice.code}"
