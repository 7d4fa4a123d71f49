"""train.status for clusters: job phase, pods with phase, restarts and node, the last event, the
last metric, in one place."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from playrunner.errors import HostUnreachable
from playrunner.kube.nodes import quarantine
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.training.kube.bad_nodes import Suspect, suspects
from playrunner.training.kube.pod import CONTAINER
from playrunner.training.kube.pod_output import first_pod, logs_of, metrics_of
from playrunner.training.kube.rank0 import newest_meeting
from playrunner.training.kube.run_view import ClusterRun, events_of, find
from playrunner.training.kube.selection import the_run
from playrunner.training.kube.site import Site, open_site
from playrunner.training.runs.states import exit_code
from playrunner.training.ssh.hosts import open_fleet, training_hosts
from playrunner.training.ssh.run_view import Run, all_runs
from playrunner.training.ssh.status import as_json, table

LISTED_LINES = 200  # of each pod's log, to find the last metric of a run in a list


def show_one(options: Options, name: str) -> int:
    """One run with its pods; the exit code tells its state."""
    site = open_site(options)
    run = the_run(site, name)
    logs = logs_of(site.kube, run)
    metrics, first = metrics_of(site.kube, run, logs), first_pod(site.kube, run, logs)
    events = events_of(site.kube, run) if run.job else []
    pods = [pod_row(pod, first) for pod in run.pods]
    meeting = newest_meeting(logs.get(first, ()))
    bad = free_suspects(site, run)
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
                "event": told(events[-1]) if events else None,
                "suspects": [asdict(one) for one in bad],
            }
        )
        return exit_code(run.state)
    print(table([run.shown(metrics)]))
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
        print(f"  last event: {told(events[-1])}")
    for one in bad:
        print(f"  {one.advice(run)}")
    return exit_code(run.state)


def show_all(options: Options, with_hosts: bool) -> int:
    """Every run of the cluster, and those over SSH where the inventory has such hosts."""
    runs, silent = cluster_runs(open_site(options))
    if with_hosts:
        with open_fleet(options) as fleet:
            others, quiet = all_runs(fleet, training_hosts(fleet, options))
        runs, silent = [*runs, *others], {**silent, **quiet}
    if options.json:
        print_json({"runs": [as_json(run) for run in runs], "silent": silent})
    elif runs:
        print(table(runs))
    elif not silent:
        print("no runs; start one with: invoke train.launch --profile gpt2-micro-smoke")
    for host, why in silent.items():
        sys.stderr.write(f"{host} does not answer: {why}\n")
    return 4 if silent else 0


def cluster_runs(site: Site) -> tuple[list[Run], dict[str, str]]:
    """As the tables of all runs take them; the cluster that does not answer, with why."""
    try:
        runs = find(site.kube, site.ground.namespace)
        return [
            run.shown(metrics_of(site.kube, run, logs_of(site.kube, run, LISTED_LINES)))
            for run in runs
        ], {}
    except HostUnreachable as error:
        return [], {"the cluster": str(error)}


def free_suspects(site: Site, run: ClusterRun) -> list[Suspect]:
    """Nodes that fail again and again and are still used: whoever follows a run puts them aside, a
    detached one has nobody."""
    found = suspects(run.pods)
    marked = quarantine.entries(site.kube) if found else {}
    return [one for one in found if one.node not in marked]


def pod_row(pod: dict[str, Any], first: str) -> dict[str, Any]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    container: dict[str, Any] = next(
        (one for one in status.get("containerStatuses") or () if one.get("name") == CONTAINER), {}
    )
    image = next(
        (
            str(one.get("image"))
            for one in spec.get("containers") or ()
            if one.get("name") == CONTAINER
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


def told(event: dict[str, Any]) -> str:
    thing = event.get("involvedObject") or {}
    return (
        f"{event.get('reason')} ({thing.get('kind')} {thing.get('name')}):"
        f" {' '.join(str(event.get('message') or '').split())}"
    )


def names(run: ClusterRun) -> list[str]:
    return [str(pod["metadata"]["name"]) for pod in run.pods]
