"""How a run on a cluster ended: the loss as a chart and where its checkpoints are, or what went
wrong and what to do next."""

from __future__ import annotations

import time
from typing import Any

from playrunner.kube.watch import reasons
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.kube.job_spec.secrets import delete_secrets
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.runs.ending import keep
from playrunner.training.kube.runs.follow import curve
from playrunner.training.kube.runs.pod_output import not_restarted
from playrunner.training.kube.runs.repeated_steps import setbacks, setbacks_text
from playrunner.training.kube.runs.run_view import ClusterRun, again
from playrunner.training.kube.runs.saved_steps import last_saved, saved_text
from playrunner.training.kube.session import ClusterSession
from playrunner.training.runs.record import Record
from playrunner.training.runs.states import exit_code
from playrunner.training.screen.phases import resume_line
from playrunner.training.screen.screen import LiveLine, loss_chart

TAIL_SHOWN = 12
ELSEWHERE_SECONDS = 5.0


def conclude(
    run: ClusterRun,
    status: Status,
    session: ClusterSession,
    record: Record,
    line: LiveLine,
    options: Options,
) -> int:
    if status.state == "lost":
        status = _ended_elsewhere(run, record) or status
    metrics, lost = curve(record.metrics()), setbacks(record.metrics())
    keep(session, run, record)
    if status.state in ("finished", "failed"):
        delete_secrets(session.kube, run.namespace, run.run_id)
    why = (
        status.reason
        if status.state == "stopped"
        else _why(session, run, status, record)
        if status.state != "finished"
        else ""
    )
    if status.state != "stopped":
        record.end(
            {
                "run_id": run.run_id,
                "state": status.state,
                "reason": why,
                "phase": status.phase,
                "time": time.time(),
                "last": metrics[-1] if metrics else None,
            }
        )
    if options.json:
        print_json(
            {
                "name": run.name,
                "run_id": run.run_id,
                "state": status.state,
                "changed": True,
                "backend": "cluster",
                "reason": why,
                "last": metrics[-1] if metrics else None,
                "saved_step": last_saved(record, run.run_id),
                "output": run.summary["output"],
                "claim": run.summary.get("claim") or None,
                "setbacks": len(lost),
                "steps_lost": sum(one.lost for one in lost),
                "logs": str(record.folder / "hosts"),
            }
        )
    elif status.state == "finished":
        _say_success(run, metrics, line)
        if lost:
            line.say(f"{run.name} was {setbacks_text(lost)}")
    elif status.state == "stopped":
        line.say(
            f"{run.name} was stopped: {why}; {saved_text(record, run.run_id)}; go on with:"
            f" {program()} train.resume --name {run.name}"
        )
    else:
        _say_failure(run, status, why, record, line)
        at = f"at step {metrics[-1]['step']}, loss {metrics[-1]['loss']:.4f}" if metrics else ""
        line.say(
            f"it ended {at or 'before its first step'}; {saved_text(record, run.run_id)};"
            f" {resume_line(run.name)}"
        )
    return exit_code(status.state)


def _ended_elsewhere(run: ClusterRun, record: Record) -> Status | None:
    """Another command on this machine may have stopped it: that one writes down the end when all
    pods are gone."""
    deadline = time.monotonic() + ELSEWHERE_SECONDS
    while time.monotonic() < deadline:
        said = record.ending()
        if said.get("run_id") == run.run_id:
            return Status(
                str(said["state"]), str(said.get("phase", "")), str(said.get("reason", ""))
            )
        time.sleep(0.2)
    return None


def _say_success(run: ClusterRun, metrics: list[dict[str, Any]], line: LiveLine) -> None:
    if metrics:
        line.say(loss_chart(metrics))
        line.say(
            f"{run.name} is done: loss {metrics[0]['loss']:.4f} -> {metrics[-1]['loss']:.4f} in"
            f" {metrics[-1]['step']} steps"
        )
    else:
        line.say(f"{run.name} is done")
    where = f" on claim {run.summary['claim']}" if run.summary.get("claim") else ""
    line.say(
        f"checkpoints: {run.summary['output']}/checkpoints{where}\n"
        "next, for example:\n"
        f"  {program()} train.logs --name {run.name}\n"
        f"  {program()} train.shell --name {run.name} (a shell with the claim mounted)\n"
        f"  {program()} train.stop --name {run.name} (deletes its finished job)"
    )


def _say_failure(run: ClusterRun, status: Status, why: str, record: Record, line: LiveLine) -> None:
    line.say(f"{run.name} {status.state} ({status.phase}). {why}".rstrip())
    for path in sorted((record.folder / "hosts").glob(f"{run.run_id}*.log")):
        lines = path.read_text(errors="replace").splitlines()[-TAIL_SHOWN:]
        if lines:
            line.say(f"{path.stem}:")
            line.say("\n".join(f"    {text}" for text in lines))
            break
    line.say(
        f"every pod's output is in {record.folder}/hosts; more: {program()} train.why --name"
        f" {run.name}"
    )


def _why(session: ClusterSession, run: ClusterRun, status: Status, record: Record) -> str:
    lines = [
        line
        for path in sorted((record.folder / "hosts").glob(f"{run.run_id}*.log"))
        for line in path.read_text(errors="replace").splitlines()
    ]
    refused = [f"not started again: {why}" for why in not_restarted(lines)]
    pod_reasons = [text for pod in again(session.kube, run).pods for text in reasons.pod(pod)]
    found = [*refused[:1], *filter(None, [status.reason]), *pod_reasons]
    return "; ".join(list(dict.fromkeys(found))[:3])
