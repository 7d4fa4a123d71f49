"""train.resume and train.scale for clusters: a run goes on from its newest checkpoint, or with more
or fewer pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.errors import BadInput
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.project import program
from playrunner.training.kube.launch import launch
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.node_groups.grow import Growth, foresee, grow
from playrunner.training.kube.runs.pod_output import first_pod, logs_of
from playrunner.training.kube.runs.rank0 import has_met_only
from playrunner.training.kube.runs.run_view import ClusterRun, resource_of
from playrunner.training.kube.runs.selection import GOING_ON, the_run
from playrunner.training.kube.session import ClusterSession, open_session
from playrunner.training.request import LaunchRefused, Request, begins_elsewhere, continued
from playrunner.training.runs.record import Record


def resume(
    options: Options, name: str, nodes: int, overrides: tuple[str, ...], detach: bool
) -> int:
    run = the_run(open_session(options), name)
    if run.state in (*GOING_ON, "stopping"):
        raise BadInput(
            f"{run.name} is {run.state}; there is nothing to resume (train.scale changes its nodes)"
        )
    given = Record(run.name).job() or run.summary
    recorded = tuple(given.get("overrides", ()))
    request = Request(
        str(given["profile"]),
        run.name,
        nodes or int(given["replicas"]),
        (*continued(recorded, not begins_elsewhere(recorded)), *overrides),
        str(given["launcher"]),
        detach,
        secrets=tuple(given.get("secrets", ())),
    )
    return launch(replace(request, replace=run.state == "finished"), options, request.launcher)


def scale(options: Options, name: str, nodes: int) -> int:
    """Change the number of pods between the least and the most; torchrun does the rest from a
    checkpoint."""
    if nodes < 1:
        raise BadInput("--nodes says how many nodes the run should have")
    session = open_session(options)
    run = the_run(session, name)
    if run.state not in GOING_ON or not run.job:
        raise BadInput(
            f"{run.name} is {run.state}; go on with: {program()} train.resume --name {run.name}"
            " --nodes"
            f" {nodes}"
        )
    bounds = run.summary.get("elastic")
    if not bounds:
        raise BadInput(
            f"{run.name} is not elastic: as {run.kind.name} its number of nodes is"
            f" fixed{_how(run)}; stop it, then: {program()} train.resume --name {run.name} --nodes"
            f" {nodes}"
        )
    least, most = bounds
    if not least <= nodes <= most:
        raise BadInput(
            f"{run.name} has between {least} and {most} nodes (launch.min_nodes, launch.max_nodes),"
            f" which was fixed when it was launched; {nodes} is outside"
        )
    before = run.replicas
    if nodes < before:
        _refuse_while_starting(session, run, nodes)
    growth = foresee(session, run, nodes - before)
    if nodes != before and not options.check:
        grow(session, run, growth, options)
        _patch(session, run, nodes)
    return _say(options, run, before, nodes, growth)


def _refuse_while_starting(session: ClusterSession, run: ClusterRun, nodes: int) -> None:
    """Ranks that have just met wait half an hour for one another, also for one whose pod has
    gone."""
    logs = logs_of(session.kube, run)
    if has_met_only(logs.get(first_pod(session.kube, run, logs), ())):
        raise LaunchRefused(
            f"{run.name}: its pods have just met, and its ranks are only starting; a pod that went"
            f" now would leave the rest waiting for it. In a moment: {program()} train.scale --name"
            f" {run.name} --nodes {nodes}"
        )


def _patch(session: ClusterSession, run: ClusterRun, nodes: int) -> None:
    resource = resource_of(session.kube, run.kind)
    assert resource
    body: Any = nodes
    for word in reversed(run.kind.replicas):
        body = {word: body}
    session.kube.call(
        "PATCH",
        resource.path(run.namespace, run.run_id),
        body,
        "application/merge-patch+json",
        fieldManager="playrunner-scale",
    )


def _how(run: ClusterRun) -> str:
    return (
        " (launch.min_nodes makes one elastic)"
        if run.kind.replicas
        else f" ({' and '.join(_elastic())} can be elastic)"
    )


def _elastic() -> list[str]:
    return [kind.name for kind in KINDS.values() if kind.replicas]


def _say(options: Options, run: ClusterRun, before: int, nodes: int, growth: Growth) -> int:
    changed = before != nodes
    if options.json:
        group = (
            {"group": {"name": growth.group.name, "size": growth.size, "before": growth.group.size}}
            if growth.group
            else {}
        )
        print_json(
            {
                "name": run.name,
                "run_id": run.run_id,
                "changed": changed,
                "nodes": nodes,
                "before": before,
                **group,
            }
        )
        return 0
    if growth.text:
        print(f"{run.name}: {growth.text}")
    if not changed:
        print(f"{run.name} has {nodes} node{'s' * (nodes != 1)} already: nothing changed")
    elif options.check:
        print(f"{run.name}: {before} -> {nodes} nodes would follow")
    else:
        print(
            f"{run.name}: {before} -> {nodes} nodes; they meet again and go on from a checkpoint:"
            f" {program()} train.logs --name {run.name} --follow{_kept_size(growth)}"
        )
    return 0


def _kept_size(growth: Growth) -> str:
    """A size that the inventory fixes is what the next run of the role goes back to; one of EKS
    counts only when the group is made."""
    if growth.group is None or not growth.grows or growth.group.cloud == "aws":
        return ""
    return (
        f"\n{growth.group.text} stays at {growth.size}: where the inventory gives it a nodes, say"
        f" {growth.size} there before the next {program()} gke.create"
    )
