"""Launching a run on a cluster: its size is counted, its objects are applied, and it is followed to
its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.training.kube.bad_nodes import BadNodes
from playrunner.training.kube.cacheset import hold
from playrunner.training.kube.conclusion import conclude
from playrunner.training.kube.ending import end, sweep
from playrunner.training.kube.follow import Follower
from playrunner.training.kube.gate import expected, launch_past_gate, with_gate
from playrunner.training.kube.gate_result import Ear, Gated
from playrunner.training.kube.give_up import Outlook
from playrunner.training.kube.job import ClusterJob
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.plan import CLAIMS, plan
from playrunner.training.kube.render import variables
from playrunner.training.kube.run_view import ClusterRun, find
from playrunner.training.kube.site import Site, open_site
from playrunner.training.runs.record import Record
from playrunner.training.runs.states import CANCELLED
from playrunner.training.screen.screen import LiveLine
from playrunner.training.ssh.follow import GateClosed
from playrunner.training.ssh.job import check_name
from playrunner.training.ssh.plan import Request, read_request, run_name


def launch(request: Request, options: Options, launcher: str) -> int:
    """A node that keeps the gate closed is put aside, and the job is made anew without it."""
    return launch_past_gate(
        request, options, launcher, lambda asked: _launch(asked, options, launcher)
    )


def _launch(request: Request, options: Options, launcher: str) -> int:
    profile = read_request(request)
    if request.stage_only:
        raise BadInput(
            "--stage-only is for hosts: on a cluster code and profile travel with the job; --check"
            " --diff shows it"
        )
    line = LiveLine(profile.train.steps, quiet=options.json)
    site = open_site(options)
    name = check_name(request.name or run_name(request.profile))
    existing = next(iter(find(site.kube, site.ground.namespace, name)), None)
    if existing and _goes_on(existing, request, profile.train.steps, line, site):
        if options.json:
            print_json(
                {"name": name, "state": existing.state, "changed": False, "run_id": existing.run_id}
            )
        return 0
    job = plan(request, profile, site, launcher, replacing=existing.run_id if existing else "")
    job = with_gate(job, site, request.gate, line.say)
    if not options.check:
        if existing:
            _make_way(existing, site, options, line)
        sweep(site, name, options)
    if job.share.device == "neuron" and not options.check:
        hold(site.kube, job.ground.namespace, job.ground.cacheset, job.run_id)
    code = submit(job, site, options)
    if code or options.check:
        if not options.check:
            sweep(site, name, options)
        if options.json:
            print_json(
                {"name": name, "run_id": job.run_id, "state": "failed" if code else "checked"}
            )
        return code
    record = Record(name)
    record.begin(job.summary(), past=existing is not None)
    run = ClusterRun(job.summary(), Status("pending"))
    if request.detach:
        return _say_detached(run, line, options)
    return follow(run, site, record, line, options)


def follow(run: ClusterRun, site: Site, record: Record, line: LiveLine, options: Options) -> int:
    """To the end; Ctrl-C stops the run, its checkpoint saved."""
    ears = Gated(record, line, expected(site), Ear(site.kube, run))
    outlook = Outlook(site.kube, run, site.ground.patience_seconds)
    try:
        status = Follower(
            site.kube, run, ears, nodes=BadNodes(site.kube, run, line.say), outlook=outlook
        ).follow()
    except GateClosed as closed:
        record.close()
        end(site, run, options, "failed", str(closed))
        raise
    except KeyboardInterrupt:
        line.say(f"stopping {run.name}; its checkpoint is saved first")
        record.close()
        end(site, run, options, reason="interrupted by whoever followed it")
        line.say(f"{run.name} is stopped; go on with: invoke train.resume --name {run.name}")
        return CANCELLED
    finally:
        line.end()
        record.close()
    code = conclude(run, status, site, record, line, options)
    if outlook.given_up:  # it must not come to life again when what it lacks is back
        line.say(f"{run.name} is taken away: {status.reason}")
        end(site, replace(run, status=status), options, status.state, status.reason)
    return code


def submit(job: ClusterJob, site: Site, options: Options) -> int:
    settings = replace(options, limit="", json=False, quiet=options.json)
    return run_plays(
        [role_play("training", "localhost", "cluster")],
        settings,
        f"train.launch {job.name}",
        inventory=site.inventory,
        extra={"run": variables(job)},
    )


def _goes_on(
    existing: ClusterRun, request: Request, steps: int, line: LiveLine, site: Site
) -> bool:
    """Whether there is nothing to launch: the run goes on already, or is complete."""
    if request.replace:
        return False
    if existing.state in ("pending", "running"):
        line.say(
            f"{existing.name} is {existing.state} already as {existing.run_id}: nothing changed"
            f" (--replace stops it first; invoke train.logs --name {existing.name} --follow)"
        )
        return True
    if (
        existing.state == "finished"
        and int(existing.summary.get("steps", 0)) >= steps
        and _is_kept(existing, site)
    ):
        line.say(f"{existing.name} is complete: nothing to do (--name starts another)")
        return True
    return False


def _is_kept(existing: ClusterRun, site: Site) -> bool:
    """Whether what it trained may still be there: a claim that was made after it does not hold it."""
    name = str(existing.summary.get("claim") or "")
    if not name:
        return True
    claim = site.kube.get(CLAIMS, existing.namespace, name)
    made = str(claim["metadata"].get("creationTimestamp") or "") if claim else ""
    return (
        bool(made)
        and datetime.fromisoformat(made).timestamp()
        <= float(existing.summary.get("created", 0)) + 1
    )


def _make_way(existing: ClusterRun, site: Site, options: Options, line: LiveLine) -> None:
    """A run's earlier life goes, its record stays; no two lives write to one folder."""
    if existing.state in ("pending", "running", "stopping"):
        line.say(f"{existing.name} is {existing.state} as {existing.run_id}; it is stopped first")
        end(site, existing, options, reason="replaced by a new launch")
        return
    line.say(
        f"{existing.name} {existing.state}; it goes on from its newest complete checkpoint, if it"
        " has one"
    )
    if existing.job or existing.pods:
        end(site, existing, options, existing.state, existing.status.reason)


def _say_detached(run: ClusterRun, line: LiveLine, options: Options) -> int:
    if options.json:
        print_json(
            {"name": run.name, "run_id": run.run_id, "state": "pending", "namespace": run.namespace}
        )
    line.say(
        f"{run.name} runs by itself as {run.kind.resource[1]} {run.namespace}/{run.run_id};"
        f" look in with: invoke train.logs --name {run.name} --follow"
    )
    return 0
