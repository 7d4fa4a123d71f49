"""What the role's steps are told: each node's part of a job, as the variables of
roles/training/tasks/main.yaml."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import yaml

from playrunner.text.written import Plain
from playrunner.training.code import code_archive
from playrunner.training.environment.variable import Variable
from playrunner.training.ssh.commands import commands, hostfile
from playrunner.training.ssh.job import JOIN_SECONDS, SILENCE_SECONDS, Job, Seat
from playrunner.training.ssh.preflight import Facts


def steps_for(
    job: Job, facts: Facts, environment: Sequence[Variable], token: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The job as it is written down, and every node's variables."""
    name, archive = code_archive()
    codes = {seat.host: f"{seat.root}/code/{name}" for seat in job.seats}
    summary = {**job.summary(), "codes": codes}
    shared = {
        "archive": str(archive),
        "profile": profile_text(job),
        "hostfile": hostfile(job),
        "token": token,
        "deepspeed": _deepspeed(job),
        "summary": json.dumps(summary, indent=1),
        "run_id": job.run_id,
        "hosts": [seat.host for seat in job.seats],
        "shared": job.shared,
        "environment": json.dumps({each.name: each.value for each in environment}, indent=1),
    }
    jobs = Plain(
        {
            seat.host: {
                **shared,
                "folder": job.folder(seat),
                "code": codes[seat.host],
                "python": seat.python,
                "hostfile_place": bool(facts[seat.host].get("job_folder")),
                "told": _told(job, seat, codes[seat.host]),
            }
            for seat in job.seats
        }
    )
    return summary, jobs


def profile_text(job: Job) -> str:
    return yaml.safe_dump(as_lists(asdict(job.profile)), sort_keys=False)


def _told(job: Job, seat: Seat, code: str) -> dict[str, Any]:
    """What the keeper of this node needs to know."""
    own = f"{job.folder(seat)}/nodes/{seat.host}"
    return {
        "run_id": job.run_id,
        "host": seat.host,
        "node_rank": job.seats.index(seat),
        "token": f"{own}/token",
        "environment": f"{own}/environment.json",
        "others": [each.host for each in job.seats[1:]],
        "nodes": [each.host for each in job.seats],
        "link": {"address": job.master.address, "port": job.link_port},
        "detached": job.detached,
        "lease_seconds": job.lease_seconds,
        "silence_seconds": SILENCE_SECONDS,
        "join_seconds": JOIN_SECONDS,
        "grace_seconds": job.grace_seconds,
        "elastic_min": job.elastic[0] if job.elastic else 0,
        "commands": commands(job, seat, code),
    }


def _deepspeed(job: Job) -> str:
    if job.profile.train.strategy.name != "deepspeed":
        return ""
    from trainer.optim.deepspeed_config import rendered

    on_cpu = job.profile.train.device == "cpu"
    return json.dumps(
        rendered(job.profile.train, job.world_size, on_cpu, own_kernel=not on_cpu), indent=1
    )


def as_lists(value: Any) -> Any:
    """The same with lists for tuples, which YAML does not have."""
    if isinstance(value, dict):
        return {key: as_lists(each) for key, each in value.items()}
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value
