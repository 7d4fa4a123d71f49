"""The variables of roles/training/tasks/main.yaml: each node's part of a job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.environment.variable import Variable
from playrunner.training.modules.train._start_order import StartOrder
from playrunner.training.profile_text import profile_text
from playrunner.training.ssh.commands import commands, hostfile
from playrunner.training.ssh.job import JOIN_SECONDS, SILENCE_SECONDS, Job, NodeSlot
from playrunner.training.ssh.nodes.preflight import Facts


def steps_for(
    job: Job,
    facts: Facts,
    environment: Sequence[Variable],
    token: str,
    script: dict[str, dict[str, Any]] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The job as it is written down, and every node's variables; `script` are those of a script
    of the user's own."""
    name, archive = code_archive()
    hosts = [node.host for node in job.nodes]
    others = hosts[1:]  # one list for all: each node's own would be a square of them
    codes = {node.host: f"{node.root}/code/{name}" for node in job.nodes}
    summary = {**job.summary(), "codes": codes}
    shared = {
        "archive": str(archive),
        "profile": profile_text(job.profile),
        "hostfile": hostfile(job),
        "token": token,
        "deepspeed": _deepspeed(job),
        "summary": json.dumps(summary, indent=1),
        "run_id": job.run_id,
        "hosts": hosts,
        "shared": job.shared,
        "environment": _as_file(each for each in environment if not each.hidden),
        "secrets": _as_file(each for each in environment if each.hidden) if job.secrets else "",
    }
    jobs = Plain(
        {
            node.host: Plain(
                {
                    **shared,
                    "folder": job.folder(node),
                    "code": codes[node.host],
                    "python": node.python,
                    "script": (script or {}).get(node.host, {}),
                    "hostfile_place": bool(facts[node.host].get("job_folder")),
                    "told": dict(vars(_start_order(job, node, hosts, others, codes[node.host]))),
                }
            )
            for node in job.nodes
        }
    )
    return summary, jobs


def _as_file(environment: Iterable[Variable]) -> str:
    return json.dumps({each.name: each.value for each in environment}, indent=1)


def _start_order(
    job: Job, node: NodeSlot, hosts: list[str], others: list[str], code: str
) -> StartOrder:
    own = f"{job.folder(node)}/nodes/{node.host}"
    return StartOrder(
        run_id=job.run_id,
        host=node.host,
        node_rank=job.places[node.host],
        token=f"{own}/token",
        environment=f"{own}/environment.json",
        others=others,
        nodes=hosts,
        link={"address": job.master.address, "port": job.link_port},
        detached=job.detached,
        lease_seconds=job.lease_seconds,
        silence_seconds=SILENCE_SECONDS,
        join_seconds=JOIN_SECONDS,
        grace_seconds=job.grace_seconds,
        elastic_min=job.elastic[0] if job.elastic else 0,
        max_restarts=job.profile.launch.max_restarts,
        restarts_per_hour=job.profile.launch.restarts_per_hour,
        commands=commands(job, node, code),
        script=bool(job.profile.script),
        secrets=bool(job.secrets),
    )


def _deepspeed(job: Job) -> str:
    if job.profile.train.strategy.name != "deepspeed":
        return ""
    from trainer.optim.deepspeed_config import written

    on_cpu = job.profile.train.device == "cpu"
    return json.dumps(written(job.profile.train, job.world_size, on_cpu), indent=1)
