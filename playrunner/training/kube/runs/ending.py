"""The end of a run on a cluster: what is to be known of it later is kept, its objects go, and its
pods are waited for."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import yaml

from playrunner.errors import PlayrunnerError, StepFailed
from playrunner.hostside.module import Failed
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.watch import Collection, Objects, watch_until
from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.options import Options
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from playrunner.text.answers import plain
from playrunner.text.written import Plain
from playrunner.training.kube.job_spec.names import ID, LABEL
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.one_off.cacheset import release
from playrunner.training.kube.runs.follow import Follower, RecordingListener, curve
from playrunner.training.kube.runs.run_view import ClusterRun, again, events_of
from playrunner.training.kube.session import ClusterSession
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine

CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", True)
REMOVED_SECONDS = 300.0  # for objects with finalizers
GONE_SECONDS = 120.0  # beyond a pod's own grace: volumes are detached, the operator reconciles


def end(
    session: ClusterSession,
    run: ClusterRun,
    options: Options,
    state: str = "stopped",
    reason: str = "",
) -> None:
    """Delete a run's objects and wait until its pods are gone; its spec, logs, events and last
    metric are kept on this machine."""
    record = Record(run.name)
    if record.job().get("run_id") != run.run_id:
        record.begin(run.summary, past=record.job().get("name") == run.name)
    keep(session, run, record)
    follower = Follower(
        session.kube, run, RecordingListener(record, LiveLine(0, quiet=True)), until_gone=True
    )
    trouble: list[Exception] = []

    def listen() -> None:
        try:
            follower.follow()
        except (
            PlayrunnerError,
            Failed,
        ) as error:  # what was heard so far is kept; the removal says what is wrong
            trouble.append(error)

    heard = threading.Thread(target=listen, name="final logs", daemon=True)
    heard.start()
    seconds = float(run.summary.get("grace_seconds", 30)) + GONE_SECONDS
    remove_objects(session, run, options)
    await_gone(session, run, seconds)
    release(session.kube, run.namespace, run.run_id)
    heard.join(30)
    metrics = curve(record.metrics())
    record.close()
    record.keep("metrics.jsonl", "".join(json.dumps(each) + "\n" for each in metrics))
    record.end(
        {
            "run_id": run.run_id,
            "state": state,
            "reason": reason,
            "phase": run.status.phase,
            "time": time.time(),
            "last": metrics[-1] if metrics else None,
        }
    )


def keep(session: ClusterSession, run: ClusterRun, record: Record) -> None:
    """The job as it was submitted, its pods and what was said about them."""
    now = again(session.kube, run)
    if now.job:
        spec = {
            **now.job,
            "metadata": {
                key: value for key, value in now.job["metadata"].items() if key != "managedFields"
            },
        }
        record.keep("job.yaml", yaml.safe_dump(plain(spec), sort_keys=False))
    if now.pods:
        record.keep("pods.json", json.dumps(now.pods, indent=1) + "\n")
    events = events_of(session.kube, run)
    if events:
        record.keep("events.jsonl", "".join(json.dumps(event) + "\n" for event in events))


def sweep(session: ClusterSession, name: str, options: Options) -> None:
    """Delete what an interrupted launch of this name left behind; no two attempts write to one
    folder."""
    session.kube.refresh()
    for files in session.kube.listing(
        CONFIG_MAPS, session.settings.namespace, f"{LABEL}={name}"
    ).items:
        left = {
            "name": name,
            "run_id": files["metadata"]["labels"][ID],
            "namespace": session.settings.namespace,
            "launcher": "job",
        }
        remove_objects(session, ClusterRun(left, Status("lost")), options)


def remove_objects(session: ClusterSession, run: ClusterRun, options: Options) -> None:
    """The job first, then what it read."""
    survey, gone = Survey(), list[Deletion]()

    def go(shared: Any) -> int:
        gone.extend(remove(survey, removable(survey, with_kept=True), lambda resource: None))
        return 0

    known = {
        "id": run.run_id,
        "namespace": run.namespace,
        "launcher": run.kind.name,
        "manifest": run.kind.manifest,
        "has_secrets": True,
        "secrets": {},
        "over_ssh": True,
        "ssh_keys": {},
        "patience_seconds": REMOVED_SECONDS,
    }
    settings = replace(options, limit="", json=False, quiet=True, check=False)
    code = run_plays(
        [role_play("training", "localhost", "cluster")],
        settings,
        f"train.stop {run.name}",
        inventory=session.inventory,
        extra={"run": Plain(known)},
        survey=survey,
        then=go,
    )
    failed = [
        f"{resource.resource.title}: {resource.reason}"
        for resource in gone
        if resource.status == "failed"
    ]
    if failed or code:
        raise StepFailed(
            f"{run.name} is not completely deleted:"
            f" {'; '.join(failed) or 'its objects could not be read'}"
        )


def await_gone(session: ClusterSession, run: ClusterRun, seconds: float) -> None:
    """Until no pod of the run is left: a pod that is still ending holds its devices."""
    pods = Collection(PODS, run.namespace, f"{ID}={run.run_id}")

    def judge(seen: dict[Collection, Objects]) -> str:
        return ", ".join(name for _, name in seen[pods])

    left = watch_until(session.kube, [pods], judge, seconds)
    if left:
        raise StepFailed(
            f"{run.name}: pods still exist after {seconds:g} s: {left}; see:"
            f" kubectl describe pod -n {run.namespace} {left.partition(',')[0]}"
        )
