"""Whether a run's data is on every node that will read it, before anything is launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.data.places import candidates, instead, is_optional, reading, remedy
from playrunner.training.request import refuse
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.stage import data_folder


def with_data(job: Job, fleet: Fleet, options: Options, say: Callable[[str], None]) -> Job:
    """The job with the first path that every node has; one that is missing is refused by name."""
    base = data_folder(job.master.root)
    paths = candidates(job.profile, base, lambda name: fleet.variable("localhost", name))
    lacking = ""
    for path in paths:
        missing = _without(fleet, [node.host for node in job.nodes], path)
        if not missing:
            if is_optional(job.profile):
                say(instead(job.profile, path))
            return replace(job, profile=reading(job.profile, path))
        lacking = lacking or f"data.path {path}: no such file or folder on {', '.join(missing)}"
    if lacking and not is_optional(job.profile):
        elsewhere = f" (nor is there {', '.join(paths[1:])})" if paths[1:] else ""
        refuse([f"{lacking}{elsewhere}; {remedy(job.profile_name, options)}"], "data")
    return job


def _without(fleet: Fleet, hosts: list[str], path: str) -> list[str]:
    """The hosts that do not have it; one that cannot be asked is preflight's affair."""
    answers = fleet.ask(hosts, "host.stat", lambda host: {"path": path})
    return [
        host for host, answer in answers.items() if answer.get("stat", {}).get("exists") is False
    ]
