"""What is looked at before a launch: whether there is anything to launch, and what would refuse
it."""

from __future__ import annotations

from dataclasses import replace

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.training.request import Request, read_request, refuse
from playrunner.training.runs.record import Record
from playrunner.training.runs.run import Run
from playrunner.training.screen.screen import LiveLine
from playrunner.training.script_code import script_code
from playrunner.training.ssh.data import with_data
from playrunner.training.ssh.job import Job
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.preflight import Facts
from playrunner.training.ssh.nodes.sandbox_fit import fitted
from playrunner.training.ssh.plan import environment_of, plan
from playrunner.training.ssh.run_view import find_run


def check_launch(request: Request, fleet: Fleet, options: Options) -> None:
    """Refuse what a launch would refuse, nothing touched."""
    line = LiveLine(0, quiet=True)
    profile = read_request(request)
    job = plan(request, profile, fleet, options)
    facts = preflight.look(fleet, job)
    request, job = fitted(request, job, facts, fleet, replace(options, check=True), line)
    refuse(preflight.complaints(preflight.with_free_ports(job, facts), facts), "plan")
    if job.profile.script:
        script_code(job.profile.code, job.profile.script)
    else:
        job = with_data(job, fleet, options, line.say)
    environment_of(job, fleet, facts)


def existing_run(job: Job, facts: Facts, fleet: Fleet) -> Run | None:
    """The run of this name on these nodes; they are asked for it only where one of them knows it
    or did not say."""
    if not any(said.get("known", True) for said in facts.values()):
        return None
    return find_run(fleet, [node.host for node in job.nodes], job.name)


def left_elsewhere(job: Job, facts: Facts, fleet: Fleet) -> list[str]:
    """A run of this name whose checkpoints none of these nodes sees would start from the
    beginning, unasked."""
    before = [
        node["host"]
        for node in Record(job.name).job().get("nodes", ())
        if node["host"] in fleet.inventory.hosts
    ]
    if not before or any(said["checkpoints"] for said in facts.values()):
        return []
    left = find_run(fleet, before, job.name)
    if not left or not left.checkpoints:
        return []
    return [
        f"{job.name} has its checkpoints ({left.checkpoints[-1]}) on {', '.join(before)}, and no"
        " node of this launch sees them; include one of those (--limit"
        f" {before[0]},{job.master.host}), share train_root, or use another --name"
    ]


def goes_on(existing: Run, request: Request, job: Job, line: LiveLine) -> bool:
    """Whether there is nothing to launch: the run goes on already, or is complete. One that died is
    resumed."""
    if existing.state in ("running", "stopping"):
        if not request.replace:
            line.say(
                f"{job.name} is running already on {', '.join(existing.hosts)}: nothing changed"
            )
            return True
        return False
    if (
        existing.state == "finished"
        and existing.steps >= job.profile.train.steps
        and not request.replace
    ):
        line.say(
            f"{job.name} is complete at step {existing.steps}: nothing to do (--name starts"
            " another)"
        )
        return True
    where = (
        f"its newest checkpoint is {existing.checkpoints[-1]}"
        if existing.checkpoints
        else "it has no checkpoint yet: starting from the beginning"
    )
    line.say(f"{job.name} {existing.state} at step {existing.steps}; {where}")
    return False
