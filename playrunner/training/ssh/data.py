"""Whether a run's data is on every node that will read it, before anything is launched."""

from __future__ import annotations

from dataclasses import replace

from playrunner.ssh.fleet import Fleet
from playrunner.training.data.places import candidates, is_optional, reading, remedy
from playrunner.training.request import refuse
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.stage import data_folder


def with_data(job: Job, fleet: Fleet) -> Job:
    """The job with the first path that every node has; one that is missing is refused by name."""
    base = data_folder(job.master.root)
    paths = candidates(job.profile, base, lambda name: fleet.variable("localhost", name))
    hosts = [node.host for node in job.nodes]
    lacking: list[str] = []
    for path in paths:
        answers = fleet.ask(hosts, "host.stat", lambda host, path=path: {"path": path})
        missing = [
            host
            for host, answer in answers.items()
            if not answer.get("stat", {}).get("exists") and "msg" not in answer
        ]
        if not missing:
            return replace(job, profile=reading(job.profile, path))
        lacking = lacking or [
            f"{host}: data.path {path}: no such file or folder" for host in missing
        ]
    if paths and not is_optional(job.profile):
        refuse([f"{each}; {remedy(job.profile_name)}" for each in lacking], "data")
    return job
