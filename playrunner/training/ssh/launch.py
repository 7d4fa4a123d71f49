"""Launching a run over SSH: look at every node, stage what it needs, start its processes, follow
them to the end."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.project import program
from playrunner.run.run import run_plays
from playrunner.ssh.fleet import Fleet
from playrunner.text.written import Plain
from playrunner.training.data.at_launch import launch_data, reading_data
from playrunner.training.environment.compiler import as_json
from playrunner.training.environment.variable import Variable
from playrunner.training.netcheck.errors import GateClosed
from playrunner.training.netcheck.spares import launch_with_replacement_nodes
from playrunner.training.notify import Notifier
from playrunner.training.request import (
    LaunchRefused,
    Request,
    as_asked,
    default_name,
    read_request,
    refuse,
    wanted_nodes,
)
from playrunner.training.runs.record import Record
from playrunner.training.runs.remembered import used_inventory
from playrunner.training.runs.states import CANCELLED
from playrunner.training.screen.phases import Phases, count, step_options
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.before_launch import existing_run, goes_on, left_elsewhere
from playrunner.training.ssh.data import bring_data, with_data
from playrunner.training.ssh.following.follow import Follower
from playrunner.training.ssh.following.listener import RecordingListener
from playrunner.training.ssh.following.sigterm import interrupted_by_sigterm
from playrunner.training.ssh.job import LEASE_SECONDS, Job
from playrunner.training.ssh.network.expected import expected_links
from playrunner.training.ssh.nodes import preflight
from playrunner.training.ssh.nodes.hosts import root_of, usable_hosts
from playrunner.training.ssh.nodes.pool import host_pool
from playrunner.training.ssh.nodes.sandbox_fit import fitted
from playrunner.training.ssh.plan import environment_of, plan
from playrunner.training.ssh.prepared import prepared_ranks, remember
from playrunner.training.ssh.script import script_steps
from playrunner.training.ssh.stage import data_folder
from playrunner.training.ssh.steps import steps_for
from playrunner.training.ssh.stop import stop_run
from trainer.config import Profile


class FirstNodeLost(HostUnreachable):
    """The node at which the nodes of an elastic run meet is gone, and the others have ended."""

    def __init__(self, reason: str, others: list[str]) -> None:
        super().__init__(reason)
        self.others = others


def launch(request: Request, options: Options, fleet: Fleet) -> int:
    """A node that fails the network check is quarantined, and a spare replaces it."""
    name, profile = request.name or default_name(request), read_request(request)
    wanted = wanted_nodes(request, profile)
    try:
        return launch_with_replacement_nodes(
            name,
            lambda: _launch(request, profile, options, fleet),
            lambda: host_pool(options, wanted),
        )
    except LaunchRefused:
        if not options.check:
            Record(name).refuse(as_asked(request, wanted))
        raise


def _launch(request: Request, profile: Profile, options: Options, fleet: Fleet) -> int:
    data = launch_data(request)
    line = LiveLine(profile.train.steps, quiet=options.json)
    line.notify = Notifier(request.notify, request.name or default_name(request), line.say).send
    phases = Phases(line)
    if data:
        base = data_folder(root_of(fleet, usable_hosts(fleet, options)[0]))
        request = reading_data(request, data, base)
        profile = read_request(request)
    job = plan(request, profile, fleet, options)
    facts = preflight.look(fleet, job, prepared_ranks(job, request, fleet, options))
    request, job = fitted(request, job, facts, fleet, options, line)
    line.minutes = job.profile.train.minutes
    existing = existing_run(job, facts, fleet)
    if existing and goes_on(existing, request, job, line):
        if options.json:
            state = {"name": job.name, "state": existing.state, "changed": False}
            print_json({**state, "backend": "ssh", "nodes": existing.hosts})
        return 0
    job = preflight.with_free_ports(job, facts)
    refuse(preflight.complaints(job, facts), "preflight")
    if not existing:
        refuse(left_elsewhere(job, facts, fleet), "preflight")
    if data:
        bring_data(data, job, fleet, options, line)
    elif not job.profile.script:
        job = with_data(job, fleet, options, line.say)
    environment = environment_of(job, fleet, facts)
    remember(job, facts, fleet)
    phases.done(f"checked {count(len(job.nodes), 'node')}")
    # Nothing that runs is touched before all that could refuse the launch has been looked at.
    if existing and existing.state in ("running", "stopping") and not options.check:
        line.say(f"{job.name} is running; stopping it first")
        stop_run(fleet, existing.job, options)
    starting = replace(options, skip_tags="start" if request.stage_only else "")
    summary, jobs, code = _start(job, facts, environment, fleet, starting)
    if not code:
        word = "would be started" if options.check else "started"
        word = "nothing started" if request.stage_only else word
        phases.done(f"code synced, {_sent(jobs):.1f} MB; {word}")
    if code or options.check or request.stage_only:
        if options.json:
            ended = "failed" if code else "checked" if options.check else "staged"
            state = {"name": job.name, "run_id": job.run_id, "state": ended}
            print_json({**state, "backend": "ssh", "nodes": list(jobs)})
        return code
    record = Record(job.name)
    record.begin({**summary, "inventory": used_inventory(options)})
    record.keep("environment.json", json.dumps(as_json(environment), indent=1) + "\n")
    return _see_through(summary, jobs, request, record, fleet, line, options)


def _see_through(
    job: dict[str, Any],
    jobs: dict[str, Any],
    request: Request,
    record: Record,
    fleet: Fleet,
    line: LiveLine,
    options: Options,
) -> int:
    """Follow a run; an elastic one gets back the nodes that return, and goes on without its first
    one should that be lost."""
    if not job["elastic"] or request.detach:
        return follow(fleet, job, record, line, options, request.detach)
    try:
        return follow(
            fleet,
            job,
            record,
            line,
            options,
            rejoin=lambda host: _rejoin(host, jobs, fleet, options),
        )
    except FirstNodeLost as lost:
        line.say(f"{lost}; {job['name']} continues on {', '.join(lost.others)}")
        fewer = request.on_fewer(len(lost.others))
        return launch(fewer, replace(options, limit=",".join(lost.others)), fleet)


def follow(
    fleet: Fleet,
    job: dict[str, Any],
    record: Record,
    line: LiveLine,
    options: Options,
    detach: bool = False,
    rejoin: Callable[[str], bool] | None = None,
) -> int:
    """To the end, or until it trains when it is detached; Ctrl-C saves a checkpoint and stops the
    run."""
    host = job["nodes"][0]["host"]
    expected = expected_links(fleet, host)
    lease = float(fleet.variable(host, "train_lease_seconds", LEASE_SECONDS))
    follower = Follower(
        fleet,
        job,
        RecordingListener(record, line, expected),
        to_gate=detach,
        lease=lease,
        rejoin=rejoin,
    )
    try:
        with interrupted_by_sigterm():
            states = follower.follow() if not detach or job["gate"] else {}
        if detach and (follower.passed or not job["gate"]):
            return _say_detached(job, line, options)
    except GateClosed:
        stop_run(fleet, job, options)
        raise
    except KeyboardInterrupt:
        line.say(f"stopping {job['name']}; its checkpoint is saved first")
        stop_run(fleet, job, options)
        record.end({"state": "stopped", "time": time.time()})
        steps = [each["step"] for each in record.metrics()[-1:]]
        line.say(
            f"{job['name']} is stopped{f' at step {steps[0]}' if steps else ''}; it goes on with:"
            f" {program()} train.resume --name {job['name']}"
        )
        return CANCELLED
    finally:
        line.end()
        record.close()
    others = [node["host"] for node in job["nodes"] if node["host"] not in follower.silent]
    if rejoin and states.get(host, {}).get("state") == "lost" and len(others) >= job["elastic"][0]:
        raise FirstNodeLost(states[host]["reason"], others)
    # Imported when the run has ended: until its first step a launch leaves the cores to the ranks
    from playrunner.training.ssh.conclusion import conclude
    from playrunner.training.ssh.following.last_look import last_look

    states, saved = last_look(fleet, job, states, follower.silent)
    return conclude(job, states, record, line, options, saved)


def _say_detached(job: dict[str, Any], line: LiveLine, options: Options) -> int:
    hosts = [node["host"] for node in job["nodes"]]
    if options.json:
        print_json(
            {
                "name": job["name"],
                "run_id": job["run_id"],
                "state": "running",
                "changed": True,
                "backend": "ssh",
                "nodes": hosts,
            }
        )
    line.say(
        f"{job['name']} is running detached on {', '.join(hosts)}. Follow it with: {program()}"
        f" train.logs --name {job['name']} --follow"
    )
    return 0


def _rejoin(host: str, jobs: dict[str, Any], fleet: Fleet, options: Options) -> bool:
    """Run the same steps again on a node that was lost; whether they succeeded. The network was
    checked when the run started."""
    order = jobs[host]["told"]
    commands = [
        {**command, "environment": {**command["environment"], "TRAINER_GATE": ""}}
        for command in order["commands"]
    ]
    again = Plain({host: Plain({**jobs[host], "told": {**order, "commands": commands}})})
    settings = replace(options, extra_vars=(), limit="", json=False, quiet=True)
    with Fleet(fleet.inventory) as fresh:
        return not run_plays(
            [role_play("training", host)],
            settings,
            f"train.launch ({host} again)",
            inventory=fresh.inventory,
            extra={"jobs": again},
            agents=fresh.agents,
        )


def _sent(jobs: dict[str, Any]) -> float:
    """Megabytes of the archives that go to a node which has nothing of them yet."""
    job = next(iter(jobs.values()))
    archives = [job["archive"], job["script"].get("archive", "")]
    return sum(Path(archive).stat().st_size for archive in archives if archive) / 1e6


def _start(
    job: Job,
    facts: preflight.Facts,
    environment: Sequence[Variable],
    fleet: Fleet,
    options: Options,
) -> tuple[dict[str, Any], dict[str, Any], int]:
    script = script_steps(job, fleet) if job.profile.script else None
    summary, jobs = steps_for(job, facts, environment, secrets.token_hex(16), script)
    play = role_play("training", ",".join(jobs))
    # Every node at once: they wait for one another when they start.
    settings = replace(step_options(options), forks=max(options.forks, len(jobs)), extra_vars=())
    code = run_plays(
        [play],
        settings,
        f"train.launch {job.name}",
        inventory=fleet.inventory,
        extra={"jobs": jobs},
        agents=fleet.agents,
    )
    return summary, jobs, code
