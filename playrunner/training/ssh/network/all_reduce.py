"""Bandwidth between hosts of an inventory: all_reduce_perf under mpirun where nccl-tests is
installed, else our own measure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from playrunner.ssh.fleet import Fleet
from playrunner.training.code_staging import stage_code
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.errors import NotMeasured
from playrunner.training.netcheck.rank_processes import RankProcess, run_all
from playrunner.training.netcheck.sizes import NCCL_TESTS, Sizes
from playrunner.training.node_shell import in_shell
from playrunner.training.ssh.job import Job, NodeSlot

LIMIT_SECONDS = 1800.0  # sixteen gigabytes a hundred times on a slow network


def measure(
    fleet: Fleet, job: Job, environment: Sequence[Variable], on_gpus: bool, sizes: Sizes
) -> str:
    """What the programs printed."""
    if on_gpus and _has_nccl_tests(fleet, job):
        processes = run_all(
            fleet,
            [(job.master.host, _mpirun(job, environment, sizes))],
            LIMIT_SECONDS,
            lambda process: False,
        )
    else:
        codes = stage_code(fleet, {node.host: node.root for node in job.nodes})
        parts = [
            (node.host, _own(job, node, local, codes[node.host], environment, on_gpus, sizes))
            for node in job.nodes
            for local in range(node.slots)
        ]
        processes = run_all(fleet, parts, LIMIT_SECONDS, lambda process: process.done.is_set())
    return _said(processes)


def _has_nccl_tests(fleet: Fleet, job: Job) -> bool:
    """On all nodes, with an mpirun on the first."""
    program = str(fleet.variable(job.master.host, "nccl_tests", NCCL_TESTS))
    there = fleet.ask(
        [node.host for node in job.nodes], "host.stat", lambda host: {"path": program}
    )
    return all(said.get("stat", {}).get("exists") for said in there.values())


def _mpirun(job: Job, environment: Sequence[Variable], sizes: Sizes) -> str:
    """The smoke test of the image: one rank for each GPU, sums checked."""
    hosts = ",".join(f"{node.address}:{node.slots}" for node in job.nodes)
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
        NCCL_TESTS,
        *sizes.flags(True),
        "-g",
        "1",
        "-c",
        "1",
    ]
    return f"exec {shlex.join(words)}"


def _own(
    job: Job,
    node: NodeSlot,
    local: int,
    code: str,
    environment: Sequence[Variable],
    on_gpus: bool,
    sizes: Sizes,
) -> str:
    place = {
        "RANK": node.first_rank + local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "NODE_NAME": node.host,
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
        f"PYTHONPATH={in_shell(code)} {words} exec {in_shell(node.python)} -m"
        f" trainer.node.exit_with_parent trainer.netcheck.all_reduce_perf {flags}"
    )


def _said(processes: Sequence[RankProcess]) -> str:
    if "#" in processes[0].out:
        return processes[0].out + processes[0].err
    errors = "; ".join(
        dict.fromkeys(
            f"{process.host}: {process.last_words}"
            for process in processes
            if process.err or process.code > 0
        )
    )
    raise NotMeasured(
        f"the bandwidth could not be measured: {errors or f'no word in {LIMIT_SECONDS:g} s'}"
    )
