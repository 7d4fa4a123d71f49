"""Whether a run's data is on every node that will read it, before anything is launched."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.data.places import candidates, instead, is_optional, reading, remedy
from playrunner.training.data.request import StageRequest, target_of
from playrunner.training.data.transfer import Folder
from playrunner.training.request import refuse
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.stage import data_folder, staged_on


def bring_data(
    data: StageRequest, job: Job, fleet: Fleet, options: Options, line: LiveLine
) -> None:
    """What --data names, on every node of the run."""
    targets = {node.host: target_of(data, data_folder(node.root)) for node in job.nodes}
    if options.check:
        line.say(f"data: {data.title} would be copied to {targets[job.master.host]}")
        return
    begun = time.monotonic()
    folder = Folder(Path(data.source)) if data.is_folder else None
    outcomes = staged_on(fleet, data, targets, folder, lambda text: None)
    failed = [f"{host}: {why}" for host, (_, why) in outcomes.items() if why]
    refuse(failed, f"--data {data.title}")
    first = outcomes[job.master.host][0]
    word = "copied" if any(result.get("changed") for result, _ in outcomes.values()) else "there"
    line.say(
        f"data {word}: {int(first.get('bytes') or 0) / 1e6:.1f} MB on {len(targets)} nodes"
        f" ({time.monotonic() - begun:.1f} s)"
    )


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
