"""Launching a run on a cluster: its size is counted, its objects are applied, and it is followed to
its end."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from playrunner.errors import BadInput
from playrunner.kube.nodes import quarantine
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import role_play
from playrunner.project import program
from playrunner.run.run import run_plays
from playrunner.training.data.at_launch import launch_data, reading_data
from playrunner.training.data.request import StageRequest
from playrunner.training.environment.compiler import as_json
from playrunner.training.kube.conclusion import conclude
from playrunner.training.kube.data import bring_data, with_data
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.render import variables
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.network.gate import expected, launch_past_gate, with_gate
from playrunner.training.kube.network.gate_result import GateListener, GateResultReader
from playrunner.training.kube.one_off.cacheset import hold
from playrunner.training.kube.operator_install import install_operator
from playrunner.training.kube.plan import CLAIMS, plan
from playrunner.training.kube.runs.bad_nodes import BadNodes
from playrunner.training.kube.runs.ending import end, sweep
from playrunner.training.kube.runs.follow import Follower
from playrunner.training.kube.runs.give_up import GiveUpPolicy
from playrunner.training.kube.runs.run_view import ClusterRun, find
from playrunner.training.kube.script import copy_script, script_files
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.kube.stage import claim_problems
from playrunner.training.netcheck.errors import GateClosed
from playrunner.training.request import Request, check_name, default_name, read_request, refuse
from playrunner.training.runs.record import Record
from playrunner.training.runs.remembered import used_inventory
from playrunner.training.runs.states import CANCELLED
from playrunner.training.screen.phases import Phases, count, step_options
from playrunner.training.screen.screen import LiveLine
from playrunner.training.script_code import ScriptCode


def launch(request: Request, options: Options, launcher: str) -> int:
    """A node that fails the network check is quarantined, and the job is created again without
    it."""
    return launch_past_gate(
        request, options, launcher, lambda asked: _launch(asked, options, launcher)
    )


def _launch(request: Request, options: Options, launcher: str) -> int:
    if request.stage_only:
        raise BadInput(
            "--stage-only is for hosts: on a cluster code and profile travel with the job; --check"
            " --diff shows it"
        )
    data = launch_data(request)
    session = open_session(options)
    if data:
        refuse(claim_problems(session), "data")
    request = reading_data(request, data, session.settings.mount)
    profile = read_request(request)
    line = LiveLine(profile.train.steps, quiet=options.json)
    phases = Phases(line)
    name = check_name(request.name or default_name(request))
    code_files = script_files(profile, session.settings)
    existing = next(iter(find(session.kube, session.settings.namespace, name)), None)
    if existing and _goes_on(existing, request, profile.train.steps, line, session):
        _print_state(options, name, existing.run_id, existing.state, changed=False)
        return 0
    if not options.check:
        quarantine.release_expired(session.kube)
    if install_operator(session, KINDS[launcher], options):
        phases.done(f"installed {KINDS[launcher].controller[1]}")
    job = plan(request, profile, session, launcher, replacing=existing.run_id if existing else "")
    job = _with_data(job, data, session, options, line)
    job = with_gate(_with_notes_said(job, line), session, request.gate, line.say)
    phases.done(f"checked the cluster for {count(job.nodes, 'pod')}")
    if not options.check:
        _make_ready(job, existing, code_files, session, options, line)
    if job.share.device == "neuron" and not options.check:
        hold(session.kube, job.settings.namespace, job.settings.cacheset, job.run_id)
    code = submit(job, session, options)
    if not code and not options.check:
        phases.done(f"started {KINDS[launcher].resource[1]} {job.settings.namespace}/{job.run_id}")
    if code or options.check:
        if not options.check:
            sweep(session, name, options)
        _print_state(options, name, job.run_id, "failed" if code else "checked")
        return code
    record = Record(name)
    summary = {**job.summary(), "inventory": used_inventory(options)}
    record.begin(summary, past=existing is not None)
    record.keep("environment.json", json.dumps(as_json(job.environment), indent=1) + "\n")
    run = ClusterRun(job.summary(), Status("pending"))
    if request.detach:
        return _say_detached(run, line, options)
    return follow(run, session, record, line, options)


def _print_state(options: Options, name: str, run_id: str, state: str, **more: bool) -> None:
    if options.json:
        print_json({"name": name, "run_id": run_id, "state": state, "backend": "cluster", **more})


def _with_data(
    job: ClusterJob,
    data: StageRequest | None,
    session: ClusterSession,
    options: Options,
    line: LiveLine,
) -> ClusterJob:
    if data is None:
        return with_data(job, session, options, line.say)
    bring_data(data, session, options, line.say)
    return job


def _make_ready(
    job: ClusterJob,
    existing: ClusterRun | None,
    code_files: ScriptCode | None,
    session: ClusterSession,
    options: Options,
    line: LiveLine,
) -> None:
    """Nothing of an earlier attempt is left, and the script's files are on the claim."""
    if existing:
        _make_way(existing, session, options, line)
    sweep(session, job.name, options)
    if code_files:
        copy_script(job, code_files, session, options, line.say)


def _with_notes_said(job: ClusterJob, line: LiveLine) -> ClusterJob:
    for note in job.share.notes:
        line.say(note)
    return job


def follow(
    run: ClusterRun, session: ClusterSession, record: Record, line: LiveLine, options: Options
) -> int:
    """To the end; Ctrl-C stops the run, its checkpoint saved."""
    listener = GateListener(record, line, expected(session), GateResultReader(session.kube, run))
    give_up = GiveUpPolicy(session.kube, run, session.settings.patience_seconds)
    try:
        status = Follower(
            session.kube,
            run,
            listener,
            nodes=BadNodes(session.kube, run, line.say, session.settings.quarantine),
            give_up=give_up,
        ).follow()
    except GateClosed as closed:
        record.close()
        end(session, run, options, "failed", str(closed))
        raise
    except KeyboardInterrupt:
        line.say(f"stopping {run.name}; its checkpoint is saved first")
        record.close()
        end(session, run, options, reason="interrupted with Ctrl-C")
        line.say(
            f"{run.name} is stopped; continue with: {program()} train.resume --name {run.name}"
        )
        return CANCELLED
    finally:
        line.end()
        record.close()
    code = conclude(run, status, session, record, line, options)
    if give_up.given_up:  # it must not start again when what it lacks is back
        line.say(f"{run.name} is deleted: {status.reason}")
        end(session, replace(run, status=status), options, status.state, status.reason)
    return code


def submit(job: ClusterJob, session: ClusterSession, options: Options) -> int:
    return run_plays(
        [role_play("training", "localhost", "cluster")],
        step_options(options),
        f"train.launch {job.name}",
        inventory=session.inventory,
        extra={"run": variables(job)},
    )


def _goes_on(
    existing: ClusterRun, request: Request, steps: int, line: LiveLine, session: ClusterSession
) -> bool:
    """Whether there is nothing to launch: the run goes on already, or is complete."""
    if request.replace:
        return False
    if existing.state in ("pending", "running"):
        line.say(
            f"{existing.name} is {existing.state} already as {existing.run_id}: nothing changed"
            f" (--replace stops it first; {program()} train.logs --name {existing.name} --follow)"
        )
        return True
    if (
        existing.state == "finished"
        and int(existing.summary.get("steps", 0)) >= steps
        and _is_kept(existing, session)
    ):
        line.say(f"{existing.name} is complete: nothing to do (--name starts another)")
        return True
    return False


def _is_kept(existing: ClusterRun, session: ClusterSession) -> bool:
    """Whether what it trained may still be there: a claim that was made after it does not hold
    it."""
    name = str(existing.summary.get("claim") or "")
    if not name:
        return True
    claim = session.kube.get(CLAIMS, existing.namespace, name)
    made = str(claim["metadata"].get("creationTimestamp") or "") if claim else ""
    return (
        bool(made)
        and datetime.fromisoformat(made).timestamp()
        <= float(existing.summary.get("created", 0)) + 1
    )


def _make_way(
    existing: ClusterRun, session: ClusterSession, options: Options, line: LiveLine
) -> None:
    """The earlier attempt is deleted, its record is kept; no two attempts write to one folder."""
    if existing.state in ("pending", "running", "stopping"):
        line.say(f"{existing.name} is {existing.state} as {existing.run_id}; stopping it first")
        end(session, existing, options, reason="replaced by a new launch")
        return
    line.say(
        f"{existing.name} {existing.state}; it continues from its newest complete checkpoint, if it"
        " has one"
    )
    if existing.job or existing.pods:
        end(session, existing, options, existing.state, existing.status.reason)


def _say_detached(run: ClusterRun, line: LiveLine, options: Options) -> int:
    if options.json:
        print_json(
            {
                "name": run.name,
                "run_id": run.run_id,
                "state": "pending",
                "changed": True,
                "backend": "cluster",
                "namespace": run.namespace,
            }
        )
    line.say(
        f"{run.name} is running detached as {run.kind.resource[1]} {run.namespace}/{run.run_id}."
        f" Follow it with: {program()} train.logs --name {run.name} --follow"
    )
    return 0
