"""Which run on the cluster a verb is about: the one named, else the only one that goes on, else the
newest."""

from __future__ import annotations

from difflib import get_close_matches

from playrunner.training.kube.run_view import ClusterRun, find
from playrunner.training.kube.site import Site
from playrunner.training.runs.selection import RunNotFound

GOING_ON = ("pending", "running")


def the_run(site: Site, name: str) -> ClusterRun:
    runs = find(site.kube, site.ground.namespace)
    named = [run for run in runs if not name or run.name == name]
    going = [run for run in named if run.state in GOING_ON]
    if len(going) > 1:
        raise RunNotFound(
            f"{len(going)} runs are going on: {', '.join(run.name for run in going)}; choose one"
            " with --name"
        )
    if named:
        return (going or named)[0]
    close = get_close_matches(name, [run.name for run in runs], 1)
    text = f'there is no run "{name}"' if name else "there is no run"
    where = f" in namespace {site.ground.namespace} (train_namespace), nor a record of one"
    hint = f'; did you mean "{close[0]}"?' if close else where
    raise RunNotFound(text + hint)
