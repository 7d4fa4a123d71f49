"""train.status for clusters: job phase, pods with phase, restarts and node, the last event, the
last metric, in one place."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.nodes import quarantine
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.diagnosis.blame import Suspect
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.runs.bad_nodes import advice, suspects_of
from playrunner.training.kube.runs.pod_output import first_pod, logs_of, metrics_of
from playrunner.training.kube.runs.rank0 import newest_rendezvous
from playrunner.training.kube.runs.run_view import ClusterRun, events_of, find
from playrunner.training.kube.runs.selection import the_run
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.runs.run import Run
from playrunner.training.runs.states import exit_code
from playrunner.training.screen.runs_table import as_json, table, terminal_width

LISTED_LINES = 200  # of each pod's log, to find the last metric of a run in a list


def show_status(options: Options, name: str) -> int:
    """One run with its pods; the exit code tells its state."""
    session = open_session(options)
    run = the_run(session, name)
    logs = logs_of(session.kube, run)
    metrics, first = metrics_of(session.kube, run, logs), first_pod(session.kube, run, logs)
    events = events_of(session.kube, run) if run.job else []
    pods = [pod_row(pod, first) for pod in run.pods]
    meeting = newest_rendezvous(logs.get(first, ()))
    bad = free_suspects(session, run)
    if options.json:
        print_json(
            {
                **as_json(run.shown(metrics)),
                "phase": run.status.phase,
                "namespace": run.namespace,
                "pods": pods,
                "replicas": run.replicas,
                "met": int(meeting.size or 0) if meeting else 0,
                "rank0": first,
                "event": event_text(events[-1]) if events else None,
                "suspects": [asdict(suspect) for suspect in bad],
            }
        )
        return exit_code(run.state)
    print(table([run.shown(metrics)], width=terminal_width()))
    print(
        f"  {run.kind.resource[1]} {run.namespace}/{run.run_id}: {run.status.phase or run.state}"
        + (f", {run.status.reason}" if run.status.reason else "")
        + (f", {meeting.size} of {run.replicas} pods have met" if meeting and meeting.size else "")
    )
    for pod in pods:
        mark = ", rank 0" if pod["rank0"] else ""
        print(
            f"  {pod['name']}: {pod['phase']}, {pod['restarts']}"
            f" restart{'s' * (pod['restarts'] != 1)}, on {pod['node'] or 'no node yet'}{mark},"
            f" image {pod['image']}"
        )
    if events:
        print(f"  last event: {event_text(events[-1])}")
    for suspect in bad:
        print(f"  {advice(suspect, run)}")
    return exit_code(run.state)


def cluster_runs(session: ClusterSession) -> tuple[list[Run], dict[str, str]]:
    """As the tables of all runs take them; the cluster that does not answer, with why."""
    try:
        runs = find(session.kube, session.settings.namespace)
        return [
            run.shown(metrics_of(session.kube, run, logs_of(session.kube, run, LISTED_LINES)))
            for run in runs
        ], {}
    except HostUnreachable as error:
        return [], {"the cluster": str(error)}


def free_suspects(session: ClusterSession, run: ClusterRun) -> list[Suspect]:
    """Nodes that are proved to be bad and are still used."""
    found = [one for one in suspects_of(session.kube, run) if one.proved]
    marked = if_allowed(lambda: quarantine.entries(session.kube), {}) if found else {}
    return [one for one in found if one.node not in marked]


def pod_row(pod: dict[str, Any], first: str) -> dict[str, Any]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    container: dict[str, Any] = next(
        (
            container_item
            for container_item in status.get("containerStatuses") or ()
            if container_item.get("name") == CONTAINER
        ),
        {},
    )
    image = next(
        (
            str(container_item.get("image"))
            for container_item in spec.get("containers") or ()
            if container_item.get("name") == CONTAINER
        ),
        "",
    )
    name = str(pod["metadata"]["name"])
    return {
        "name": name,
        "phase": _phase(pod, container),
        "restarts": int(container.get("restartCount") or 0),
        "node": str(spec.get("nodeName") or ""),
        "image": image,
        "rank0": name == first,
    }


def _phase(pod: dict[str, Any], container: dict[str, Any]) -> str:
    """The phase, or what holds it up."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    waiting = ((container.get("state") or {}).get("waiting") or {}).get("reason")
    return str(waiting or (pod.get("status") or {}).get("phase") or "Pending")


def event_text(event: dict[str, Any]) -> str:
    thing = event.get("involvedObject") or {}
    return (
        f"{event.get('reason')} ({thing.get('kind')} {thing.get('name')}):"
        f" {' '.join(str(event.get('message') or '').split())}"
    )


def names(run: ClusterRun) -> list[str]:
    return [str(pod["metadata"]["name"]) for pod in run.pods]
