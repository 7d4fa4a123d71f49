"""Bandwidth between the hosts of an inventory: measured over SSH, held against what it should be,
again without a bad node."""

from __future__ import annotations

import time

from playrunner.frozen import frozen
from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.conclusion import tell
from playrunner.training.netcheck.errors import NotMeasured
from playrunner.training.netcheck.judgement import ExpectedBandwidth, judge_bandwidth
from playrunner.training.netcheck.perf_table import read_table
from playrunner.training.netcheck.sizes import DEFAULT_PROFILE, Sizes
from playrunner.training.netcheck.spares import Search, should_retry
from playrunner.training.request import Request, read_request, refuse
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.network.all_reduce import measure
from playrunner.training.ssh.network.bench import job_on_nodes, prove
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import open_fleet, usable_hosts
from playrunner.training.ssh.nodes.pool import host_pool
from playrunner.training.ssh.plan import environment_of
from trainer.netcheck.verdict import Verdict

COMMAND = "nccl-image.bench"


@frozen
class _Outcome:
    """One measurement; where it is not what it should be, what the search for a bad node found."""

    output: str
    wanted: ExpectedBandwidth
    nodes: list[str]
    verdict: Verdict | None = None
    failure: NotMeasured | None = None


def bench(nodes: int, sizes: Sizes, options: Options) -> int:
    """A node that causes a bad result is quarantined, and a spare replaces it."""
    started, search = time.monotonic(), Search(COMMAND)
    while True:
        with open_fleet(options, nodes) as fleet:
            outcome = _once(fleet, nodes or len(usable_hosts(fleet, options)), sizes, options)
        bad = outcome.verdict
        if bad is None or bad.ok or not _again(search, bad, outcome.nodes, nodes or 2, options):
            if outcome.failure:
                raise NotMeasured(
                    "; ".join([str(outcome.failure), *(bad.lines if bad and not bad.ok else ())])
                )
            return tell(
                outcome.output, outcome.wanted, COMMAND, time.monotonic() - started, options
            )


def _again(search: Search, bad: Verdict, nodes: list[str], wanted: int, options: Options) -> bool:
    with host_pool(options, wanted) as pool:
        return should_retry(search, bad, nodes, pool)


def _once(fleet: Fleet, count: int, sizes: Sizes, options: Options) -> _Outcome:
    job, environment, on_gpus = _planned(fleet, count, options)
    expected = fleet.variable(job.master.host, "train_expected_bus_gbytes")
    wanted = ExpectedBandwidth(
        str(fleet.variable(job.master.host, "instance_type", "")),
        len(job.nodes),
        float(expected) if expected is not None else None,
        on_gpus,
    )
    output, failure = "", None
    try:
        output = measure(fleet, job, environment, on_gpus, sizes)
        good = judge_bandwidth(read_table(output), wanted).ok
    except NotMeasured as error:
        failure, good = error, False
    verdict = None if good else prove(fleet, job, environment)[1]
    return _Outcome(output, wanted, [node.host for node in job.nodes], verdict, failure)


def _planned(fleet: Fleet, count: int, options: Options) -> tuple[Job, list[Variable], bool]:
    """Every device of every node takes part; without devices one process a node."""
    request = Request(DEFAULT_PROFILE, name="bandwidth", nodes=count)
    profile = read_request(request)
    job = job_on_nodes(request, profile, fleet, options)
    facts = preflight.look(fleet, job)
    refuse([f"{host}: {said['msg']}" for host, said in facts.items() if "msg" in said], "preflight")
    devices = {node.host: facts[node.host]["devices"] for node in job.nodes}
    on_gpus = all(each["kind"] == "cuda" for each in devices.values())
    if on_gpus:
        job = job_on_nodes(
            request,
            profile,
            fleet,
            options,
            {host: int(each["count"]) for host, each in devices.items()},
        )
    return preflight.with_free_ports(job, facts), environment_of(job, fleet, facts), on_gpus
