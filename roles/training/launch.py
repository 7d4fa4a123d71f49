"""Launching a run over SSH: look at every node, stage what it needs, start its processes, follow them to the end."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from typing import Any

from playrunner.cli import print_json
from playrunner.fleet import Fleet
from playrunner.load.playbook import role_play
from playrunner.options import Options
from playrunner.run import run_plays
from roles.training import preflight
from roles.training.conclusion import conclude
from roles.training.follow import Follower, GateClosed, Keeping
from roles.training.job import Job
from roles.training.plan import Request, environment_of, open_fleet, plan, read_request, refuse, wanted_nodes
from roles.training.record import Record
from roles.training.runs import Run, find_run, stop_run
from roles.training.screen import LiveLine
from roles.training.states import CANCELLED
from roles.training.steps import steps_for
from roles.training.verdict import Expected


def launch(request: Request, options: Options) -> int:
    profile = read_request(request)
    line = LiveLine(profile.train.steps, quiet=options.json)
    with open_fleet(options, wanted_nodes(request, profile)) as fleet:
        job = plan(request, profile, fleet, options)
        facts = preflight.look(fleet, job)
        existing = find_run(fleet, [seat.host for seat in job.seats], job.name)
        if existing and _goes_on(existing, request, job, fleet, options, line):
            return 0
        job = preflight.with_free_ports(job, facts)
        refuse(preflight.complaints(job, facts, time.time()), "preflight")
        summary, code = _start(job, facts, fleet, replace(options, skip_tags="start" if request.stage_only else ""))
        if code or options.check or request.stage_only:
            return code
        record = Record(job.name)
        record.begin(summary)
        return follow(fleet, summary, record, line, options, request.detach)


def follow(fleet: Fleet, job: dict[str, Any], record: Record, line: LiveLine, options: Options, detach: bool = False) -> int:
    """To the end, or until it trains when it is to go on by itself; Ctrl-C stops the run, its checkpoint saved."""
    host = job["nodes"][0]["host"]
    expected = Expected(fleet.variable(host, "train_expected_gbps"), fleet.variable(host, "train_expected_latency_us"))
    follower = Follower(fleet, job, Keeping(record, line, expected), to_gate=detach)
    try:
        states = follower.follow() if not detach or job["gate"] else {}
        if detach and (follower.passed or not job["gate"]):
            return _say_detached(job, line, options)
    except GateClosed:
        stop_run(fleet, job, options)
        raise
    except KeyboardInterrupt:
        line.say(f"stopping {job['name']}; its checkpoint is saved first")
        stop_run(fleet, job, options)
        return CANCELLED
    finally:
        line.end()
        record.close()
    return conclude(job, states, record, line, options)


def _say_detached(job: dict[str, Any], line: LiveLine, options: Options) -> int:
    hosts = [node["host"] for node in job["nodes"]]
    if options.json:
        print_json({"name": job["name"], "run_id": job["run_id"], "state": "running", "nodes": hosts})
    line.say(f"{job['name']} runs by itself on {', '.join(hosts)}; look in with: invoke train.logs --name {job['name']} --follow")
    return 0


def _start(job: Job, facts: preflight.Facts, fleet: Fleet, options: Options) -> tuple[dict[str, Any], int]:
    environment = environment_of(job, fleet, facts)
    summary, jobs = steps_for(job, facts, environment, secrets.token_hex(16))
    play = role_play("training", ",".join(jobs))
    # Every node at once: they wait for one another when they start.
    settings = replace(options, forks=max(options.forks, len(jobs)), extra_vars=(), limit="", json=False, quiet=options.json)
    return summary, run_plays([play], settings, f"train.launch {job.name}", inventory=fleet.inventory, extra={"jobs": jobs},
                              agents=fleet.agents)


def _goes_on(existing: Run, request: Request, job: Job, fleet: Fleet, options: Options, line: LiveLine) -> bool:
    """Whether there is nothing to launch: the run goes on already, or is complete. One that died is resumed."""
    if existing.state in ("running", "stopping"):
        if not request.replace:
            line.say(f"{job.name} is running already on {', '.join(existing.hosts)}: nothing changed")
            return True
        line.say(f"{job.name} is running; it is stopped first")
        if not options.check:
            stop_run(fleet, existing.job, options)
        return False
    if existing.state == "finished" and existing.steps >= job.profile.train.steps and not request.replace:
        line.say(f"{job.name} is complete at step {existing.steps}: nothing to do (--name starts another)")
        return True
    where = f"resuming from {existing.checkpoints[-1]}" if existing.checkpoints else "it has no checkpoint yet: starting anew"
    line.say(f"{job.name} {existing.state} at step {existing.steps}; {where}")
    return False
