"""Runs as the cluster reports them: the job, its pods, and what it was launched as."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.kube.watch.explain import EVENTS, PODS
from playrunner.text.answers import BadAnswer, Shape, document, fitting
from playrunner.training.kube.job_spec.names import ID, LABEL, SUMMARY
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Kind, Status
from playrunner.training.kube.queueing import with_waiting
from playrunner.training.runs.record import Record, recorded
from playrunner.training.runs.run import Run

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}")
_SUMMARY: Shape = {
    **dict.fromkeys(("name!", "run_id!", "launcher!", "namespace!", "output!"), str),
    **dict.fromkeys(
        ("profile", "script", "strategy", "device", "claim", "mount", "image", "python"), str
    ),
    **dict.fromkeys(("world_size!", "replicas!", "processes!", "steps!", "port"), int),
    **dict.fromkeys(("grace_seconds", "hourly", "created"), float),
    "elastic": [int],
    "overrides": [str],
    "secrets": [str],
    "detached": bool,
}

Thing = dict[str, Any]


@frozen
class ClusterRun:
    """One run: its job as it is now, or what is recorded of one whose job is gone."""

    summary: dict[str, Any]
    status: Status
    job: Thing | None = None
    pods: tuple[Thing, ...] = ()
    events: tuple[Thing, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        return str(self.summary["name"])

    @property
    def run_id(self) -> str:
        return str(self.summary["run_id"])

    @property
    def namespace(self) -> str:
        return str(self.summary["namespace"])

    @property
    def kind(self) -> Kind:
        return KINDS[str(self.summary["launcher"])]

    @property
    def state(self) -> str:
        return self.status.state

    @property
    def replicas(self) -> int:
        """How many pods it should have now."""
        value: Any = self.job or {}
        for word in self.kind.replicas:
            value = (value or {}).get(word)
        return (
            int(value)
            if self.kind.replicas and self.job and self.summary.get("elastic")
            else int(self.summary["replicas"])
        )

    def pod(self, name: str) -> Thing | None:
        return next((pod for pod in self.pods if pod["metadata"]["name"] == name), None)

    def shown(self, metrics: list[dict[str, Any]]) -> Run:
        """As the tables and pages of all runs take it: pods stand where hosts do over SSH."""
        names = [str(pod["metadata"]["name"]) for pod in self.pods] or [
            f"{self.run_id}/{at}" for at in range(self.replicas)
        ]
        job = {**self.summary, "nodes": [{"host": name} for name in names]}
        supervisor: dict[str, Any] = {
            "state": self.state,
            "reason": self.status.reason,
            "time": self._ended(),
        }
        return Run(self.name, job, {self.run_id: supervisor}, metrics)

    def _ended(self) -> float:
        return float(self.summary.get("ended") or time.time())


def find(kube: Kube, namespace: str, name: str = "") -> list[ClusterRun]:
    """Every run that has a job in the cluster, or a record here, newest first."""
    kube.refresh()
    selector = f"{LABEL}={name}" if name else LABEL
    there = {run.name: run for run in sorted(_there(kube, namespace, selector), key=_created)}
    gone = [
        _from_record(record)
        for record in recorded()
        if record.name not in there
        and (not name or record.name == name)
        and record.job().get("launcher") in KINDS
        and record.job().get("namespace") == namespace
    ]
    return sorted([*there.values(), *gone], key=_created, reverse=True)


def again(kube: Kube, run: ClusterRun) -> ClusterRun:
    """The same run as it is now."""
    resource = resource_of(kube, run.kind)
    kube.refresh()
    job = kube.get(resource, run.namespace, run.run_id) if resource else None
    if job is None:
        return ClusterRun(
            {**run.summary, **_ending(run.name, run.run_id)},
            _recorded_status(run.name, run.run_id),
            pods=tuple(pods_of(kube, run)),
        )
    status = with_waiting(job, run.kind.read(job))
    return ClusterRun(run.summary, status, job, tuple(pods_of(kube, run)))


def pods_of(kube: Kube, run: ClusterRun) -> list[Thing]:
    return sorted(
        kube.listing(PODS, run.namespace, f"{ID}={run.run_id}").items,
        key=lambda pod: str(pod["metadata"]["name"]),
    )


def events_of(kube: Kube, run: ClusterRun) -> list[Thing]:
    """What was said about the job and its pods, oldest first."""
    named = [
        event
        for event in if_allowed(lambda: kube.listing(EVENTS, run.namespace).items, [])
        if str((event.get("involvedObject") or {}).get("name", "")).startswith(run.run_id)
    ]
    return sorted(named, key=said_at)


def said_at(event: Mapping[str, Any]) -> str:
    made = (event.get("metadata") or {}).get("creationTimestamp")
    return str(event.get("lastTimestamp") or event.get("eventTime") or made or "")


def resource_of(kube: Kube, kind: Kind) -> Resource | None:
    return kube.resource(*kind.resource)


def _there(kube: Kube, namespace: str, selector: str) -> list[ClusterRun]:
    runs = []
    for kind in KINDS.values():
        resource = resource_of(kube, kind)
        for job in _jobs(kube, resource, namespace, selector) if resource else ():
            annotation = (job["metadata"].get("annotations") or {}).get(SUMMARY)
            summary = _summary(annotation) if annotation else {}
            if summary.get("launcher") == kind.name:  # one resource may be several launchers'
                run = ClusterRun(
                    {**summary, **_ending(summary["name"], summary["run_id"])}, kind.read(job), job
                )
                runs.append(ClusterRun(run.summary, _status(run), job, tuple(pods_of(kube, run))))
    return runs


def _jobs(kube: Kube, resource: Resource, namespace: str, selector: str) -> list[Thing]:
    """None of a kind that the user may not see: a run of it is not the user's."""
    return if_allowed(lambda: kube.listing(resource, namespace, selector).items, [])


def _summary(annotation: str) -> dict[str, Any]:
    """What a job's annotation says of its run; empty when it was not written by us: anyone who can
    write to the cluster can put anything there, and a run's name is the name of a folder of this
    machine."""
    try:
        summary: dict[str, Any] = fitting(
            document(annotation.encode(), "a job's annotation"), _SUMMARY, "a job's annotation"
        )
    except BadAnswer:
        return {}
    return summary if all(_NAME.fullmatch(summary[part]) for part in ("name", "run_id")) else {}


def _status(run: ClusterRun) -> Status:
    if (run.job or {}).get("metadata", {}).get("deletionTimestamp"):
        return Status("stopping", "deleted", run.status.reason)
    return with_waiting(run.job, run.status) if run.job else run.status


def _from_record(record: Record) -> ClusterRun:
    job = record.job()
    return ClusterRun(
        {**job, **_ending(record.name, str(job["run_id"]))},
        _recorded_status(record.name, str(job["run_id"])),
    )


def _recorded_status(name: str, run_id: str) -> Status:
    ending = Record(name).ending()
    if ending.get("run_id") != run_id:
        return Status(
            "lost", "gone", "its job is gone from the cluster, and this machine did not end it"
        )
    return Status(str(ending["state"]), str(ending.get("phase", "")), str(ending.get("reason", "")))


def _ending(name: str, run_id: str) -> dict[str, Any]:
    said = Record(name).ending()
    return {"ended": said["time"]} if said.get("run_id") == run_id else {}


def _created(run: ClusterRun) -> float:
    return float(run.summary.get("created", 0))
