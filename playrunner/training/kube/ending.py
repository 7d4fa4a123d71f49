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
from playrunner.lifecycle.delete import Gone, removable, remove
from playrunner.options import Options
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.run.survey import Survey
from playrunner.text.answers import plain
from playrunner.text.written import Plain
from playrunner.training.kube.cacheset import release
from playrunner.training.kube.follow import Follower, Keeping, curve
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.names import ID, LABEL
from playrunner.training.kube.run_view import ClusterRun, again, events_of
from playrunner.training.kube.site import Site
from playrunner.training.runs.record import Record
from playrunner.training.screen.screen import LiveLine

CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", True)
REMOVED_SECONDS = 300.0  # for objects that others still have to let go
GONE_SECONDS = 120.0  # beyond a pod's own grace: volumes are taken off, the operator looks again


def end(
    site: Site, run: ClusterRun, options: Options, state: str = "stopped", reason: str = ""
) -> None:
    """Take a run's objects away and wait until its pods are gone; its spec, logs, events and last
    metric stay here."""
    record = Record(run.name)
    if record.job().get("run_id") != run.run_id:
        record.begin(run.summary, past=record.job().get("name") == run.name)
    keep(site, run, record)
    follower = Follower(site.kube, run, Keeping(record, LiveLine(0, quiet=True)), until_gone=True)
    trouble: list[Exception] = []

    def listen() -> None:
        try:
            follower.follow()
        except (
            PlayrunnerError,
            Failed,
        ) as error:  # what was heard so far is kept; the removal says what is wrong
            trouble.append(error)

    heard = threading.Thread(target=listen, name="last words", daemon=True)
    heard.start()
    seconds = float(run.summary.get("grace_seconds", 30)) + GONE_SECONDS
    remove_objects(site, run, options)
    await_gone(site, run, seconds)
    release(site.kube, run.namespace, run.run_id)
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


def keep(site: Site, run: ClusterRun, record: Record) -> None:
    """The job as it was submitted, its pods and what was said about them."""
    now = again(site.kube, run)
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
    events = events_of(site.kube, run)
    if events:
        record.keep("events.jsonl", "".join(json.dumps(event) + "\n" for event in events))


def sweep(site: Site, name: str, options: Options) -> None:
    """What a launch of this name left that was cut short between its files and its job; no two
    lives write to one folder."""
    site.kube.refresh()
    for files in site.kube.listing(CONFIG_MAPS, site.ground.namespace, f"{LABEL}={name}").items:
        left = {
            "name": name,
            "run_id": files["metadata"]["labels"][ID],
            "namespace": site.ground.namespace,
            "launcher": "job",
        }
        remove_objects(site, ClusterRun(left, Status("lost")), options)


def remove_objects(site: Site, run: ClusterRun, options: Options) -> None:
    """The job first, then what it read."""
    survey, gone = Survey(), list[Gone]()

    def go(shared: Any) -> int:
        gone.extend(remove(survey, removable(survey, with_kept=True), lambda one: None))
        return 0

    known = {
        "id": run.run_id,
        "namespace": run.namespace,
        "launcher": run.kind.name,
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
        inventory=site.inventory,
        extra={"run": Plain(known)},
        survey=survey,
        then=go,
    )
    failed = [f"{one.piece.title}: {one.reason}" for one in gone if one.status == "failed"]
    if failed or code:
        raise StepFailed(
            f"{run.name} is not all gone: {'; '.join(failed) or 'its objects could not be read'}"
        )


def await_gone(site: Site, run: ClusterRun, seconds: float) -> None:
    """Until no pod of the run is left: a pod that is still ending holds its devices."""
    pods = Collection(PODS, run.namespace, f"{ID}={run.run_id}")

    def judge(seen: dict[Collection, Objects]) -> str:
        return ", ".join(name for _, name in seen[pods])

    left = watch_until(site.kube, [pods], judge, seconds)
    if left:
        raise StepFailed(
            f"{run.name}: pods are still there after {seconds:g} s: {left}; see:"
            f" kubectl describe pod -n {run.namespace} {left.partition(',')[0]}"
        )
