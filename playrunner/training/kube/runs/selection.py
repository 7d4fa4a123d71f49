"""Which run on the cluster a verb is about: the one named, else the only one that goes on, else the
newest."""

from __future__ import annotations

from playrunner.text.did_you_mean import nearest
from playrunner.training.kube.runs.run_view import ClusterRun, find
from playrunner.training.kube.session import ClusterSession
from playrunner.training.runs.selection import RunNotFound, choose_run

GOING_ON = ("pending", "running")


def the_run(session: ClusterSession, name: str) -> ClusterRun:
    runs = find(session.kube, session.settings.namespace)
    run = choose_run(runs, name, GOING_ON)
    if run:
        return run
    close = nearest(name, [run.name for run in runs])
    text = f'there is no run "{name}"' if name else "there is no run"
    where = f" in namespace {session.settings.namespace} (train_namespace), nor a record of one"
    hint = f'; did you mean "{close}"?' if close else where
    raise RunNotFound(text + hint)
