"""train.bench: the network between nodes, measured and judged, with nothing trained."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.ssh.fleet import Fleet
from playrunner.text.documents import json_object
from playrunner.training.code_staging import stage_code
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.errors import NETWORK_BAD, NoResult
from playrunner.training.netcheck.rank_processes import RankProcess, run_all
from playrunner.training.netcheck.sizes import DEFAULT_PROFILE, GATE_SIZES
from playrunner.training.netcheck.verdict_table import table
from playrunner.training.node_shell import in_shell
from playrunner.training.request import Request, read_request, refuse
from playrunner.training.ssh.job import Job, NodeSlot
from playrunner.training.ssh.network.expected import expected_links
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import open_fleet, usable_hosts
from playrunner.training.ssh.plan import environment_of, plan
from trainer.config import Profile
from trainer.netcheck.verdict import Verdict, judge

MEASURE_SECONDS, JOIN_SECONDS = 6.0, 30.0
LIMIT_SECONDS = 150.0  # joining, measuring, and every message that times out


def bench(request: Request, options: Options) -> int:
    profile = read_request(replace(request, profile=request.profile or DEFAULT_PROFILE))
    with open_fleet(options, request.nodes) as fleet:
        count = request.nodes or (
            profile.launch.nodes if request.profile else len(usable_hosts(fleet, options))
        )
        job = job_on_nodes(replace(request, nodes=count, name="bench"), profile, fleet, options)
        facts = preflight.look(fleet, job)
        job = preflight.with_free_ports(job, facts)
        refuse(preflight.complaints(job, facts), "preflight")
        result, verdict = prove(fleet, job, environment_of(job, fleet, facts))
    if options.json:
        print_json({"result": result, "verdict": asdict(verdict)})
    else:
        print(table(result))
        print("\n".join(verdict.lines))
    return 0 if verdict.ok else NETWORK_BAD


def prove(
    fleet: Fleet, job: Job, environment: Sequence[Variable]
) -> tuple[dict[str, Any], Verdict]:
    """The network check alone: its result, and the verdict on it."""
    codes = stage_code(fleet, {node.host: node.root for node in job.nodes})
    result = _measured(fleet, job, codes, environment)
    first = job.master.host
    expected = expected_links(fleet, first)
    return result, judge(result, expected)


def job_on_nodes(
    request: Request,
    profile: Profile,
    fleet: Fleet,
    options: Options,
    slots: Mapping[str, int] | None = None,
) -> Job:
    """A job on those nodes; its batches are made to fit any number of them, since none is
    trained."""
    hosts = usable_hosts(fleet, options)[: request.nodes]
    given = slots or {
        host: int(fleet.variable(host, "train_slots", profile.launch.processes_per_node))
        for host in hosts
    }
    train = replace(
        profile.train,
        batch_size=profile.train.device_batch_size * max(1, sum(given.values())),
        fast=replace(profile.train.fast, cuda_graphs="off"),
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
    """Every rank's process at once; rank 0 reports for all, and another one only when it could not
    be reached."""
    parts = [
        (node.host, _command(job, node, local, codes[node.host], environment))
        for node in job.nodes
        for local in range(node.slots)
    ]
    return _verdict_of(run_all(fleet, parts, LIMIT_SECONDS, lambda process: bool(_result(process))))


def _command(
    job: Job, node: NodeSlot, local: int, code: str, environment: Sequence[Variable]
) -> str:
    """The gate with its variables, in a folder of its own that is gone afterwards."""
    names = [each.host for each in job.nodes for _ in range(each.slots)]
    place = {
        "RANK": node.first_rank + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.gate_port,
        "NODE_NAME": node.host,
        "GATE_NODES": ",".join(names),
    }
    # A secret on a command line can be read by everybody on the node, and measuring needs none.
    plain = {each.name: each.value for each in environment if not each.secret}
    words = [f"{name}={shlex.quote(str(value))}" for name, value in {**plain, **place}.items()]
    gate = (
        f"PYTHONPATH={in_shell(code)} {' '.join(words)} {in_shell(node.python)} -m"
        " trainer.node.exit_with_parent trainer.netcheck.gate"
        f' --output "$scratch/gate.json" --sizes {GATE_SIZES} --seconds {MEASURE_SECONDS:g}'
        f" --join-seconds {JOIN_SECONDS:g}"
    )
    script = (
        f'scratch=$(mktemp -d) || exit 5; cd "$scratch"; {gate}; code=$?; rm -rf "$scratch"; exit'
        " $code"
    )
    return f"exec /bin/sh -c {shlex.quote(script)}"


def _verdict_of(processes: Sequence[RankProcess]) -> dict[str, Any]:
    for process in processes:
        if result := _result(process):
            return result
    errors = [
        f"{process.host} (rank {process.rank}): {process.last_words}"
        for process in processes
        if process.err or process.code > 0
    ]
    reasons = "; ".join(dict.fromkeys(errors)) or f"no result in {LIMIT_SECONDS:g} s"
    raise NoResult(f"the network could not be measured: {reasons}")


def _result(process: RankProcess) -> dict[str, Any] | None:
    line = next((line for line in process.out.splitlines() if line.startswith("GATE {")), "")
    return json_object(line.removeprefix("GATE "))
