"""train.resume and train.scale for clusters: a run goes on from its newest checkpoint, or with more or fewer pods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.cli import print_json
from playrunner.errors import BadInput
from playrunner.options import Options
from roles.training.cluster.found import ClusterRun, resource_of
from roles.training.cluster.ground import Site, open_site
from roles.training.cluster.launch import launch
from roles.training.cluster.offers import look
from roles.training.cluster.selection import GOING_ON, the_run
from roles.training.cluster.sizing import Wish, share_of
from roles.training.planning.job import profile_of
from roles.training.planning.plan import LaunchRefused, Request
from roles.training.runs.record import Record


def resume(options: Options, name: str, nodes: int, overrides: tuple[str, ...], detach: bool) -> int:
    run = the_run(open_site(options), name)
    if run.state in (*GOING_ON, "stopping"):
        raise BadInput(f"{run.name} is {run.state}; there is nothing to resume (train.scale changes its nodes)")
    given = Record(run.name).job() or run.summary
    request = Request(str(given["profile"]), run.name, nodes or int(given["replicas"]),
                      (*given.get("overrides", ()), *overrides), str(given["launcher"]), detach)
    return launch(replace(request, replace=run.state == "finished"), options, request.launcher)


def scale(options: Options, name: str, nodes: int) -> int:
    """Change the number of pods between the least and the most; torchrun does the rest from a checkpoint."""
    if nodes < 1:
        raise BadInput("--nodes says how many nodes the run should have")
    site = open_site(options)
    run = the_run(site, name)
    if run.state not in GOING_ON or not run.job:
        raise BadInput(f"{run.name} is {run.state}; go on with: invoke train.resume --name {run.name} --nodes {nodes}")
    bounds = run.summary.get("elastic")
    if not bounds:
        raise BadInput(f"{run.name} is not elastic: as {run.kind.name} its number of nodes is fixed{_how(run)};"
                       f" stop it, then: invoke train.resume --name {run.name} --nodes {nodes}")
    least, most = bounds
    if not least <= nodes <= most:
        raise BadInput(f"{run.name} has between {least} and {most} nodes (launch.min_nodes, launch.max_nodes), which was fixed"
                       f" when it was launched; {nodes} is outside")
    before = run.replicas
    if nodes != before:
        _refuse_if_short(site, run, nodes - before)
        if not options.check:
            _patch(site, run, nodes)
    return _say(options, run, before, nodes)


def _patch(site: Site, run: ClusterRun, nodes: int) -> None:
    resource = resource_of(site.kube, run.kind)
    assert resource
    body: Any = nodes
    for word in reversed(run.kind.replicas):
        body = {word: body}
    site.kube.call("PATCH", resource.path(run.namespace, run.run_id), body, "application/merge-patch+json",
                   fieldManager="playrunner-scale")


def _refuse_if_short(site: Site, run: ClusterRun, more: int) -> None:
    if more <= 0:
        return
    profile = profile_of(str(run.summary["profile"]), tuple(run.summary.get("overrides", ())))
    wish = Wish(more, more, int(run.summary["processes"]))
    offered = [offer for offer in look(site.kube) if not any(holder.startswith(run.run_id) for holder in offer.holders)]
    try:
        share_of(profile, offered, site.ground, wish)
    except LaunchRefused as short:
        raise LaunchRefused(f"{run.name} would get {more} more: {short}; the node group first: raise its desired size"
                            " (eks_nodegroups, then invoke eks.create; gke: invoke gke.create)") from None


def _how(run: ClusterRun) -> str:
    return " (launch.min_nodes makes one elastic)" if run.kind.replicas else " (pytorchjob and elasticjob can be elastic)"


def _say(options: Options, run: ClusterRun, before: int, nodes: int) -> int:
    changed = before != nodes
    if options.json:
        print_json({"name": run.name, "run_id": run.run_id, "changed": changed, "nodes": nodes, "before": before})
    elif changed:
        print(f"{run.name}: {before} -> {nodes} nodes; they meet again and go on from a checkpoint:"
              f" invoke train.logs --name {run.name} --follow")
    else:
        print(f"{run.name} has {nodes} node{'s' * (nodes != 1)} already: nothing changed")
    return 0
