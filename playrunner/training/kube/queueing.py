"""Runs in the queues of Kueue: a job that names a LocalQueue is submitted suspended, and begins,
with all its pods or none, when Kueue admits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.launchers.kind import Kind, Status

LOCAL_QUEUES = Resource("kueue.x-k8s.io/v1beta2", "LocalQueue", "localqueues", True)
OLDER_LOCAL_QUEUES = Resource("kueue.x-k8s.io/v1beta1", "LocalQueue", "localqueues", True)
WORKLOADS = Resource("kueue.x-k8s.io/v1beta2", "Workload", "workloads", True)
OLDER_WORKLOADS = Resource("kueue.x-k8s.io/v1beta1", "Workload", "workloads", True)
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
QUEUED = "Queued"  # the phase of a run that is not admitted yet

Thing = Mapping[str, Any]


def with_queue(kube: Kube, job: ClusterJob, kind: Kind) -> tuple[ClusterJob, list[str]]:
    """The job in the queue that train_queue names, where the cluster has Kueue; and what is wrong
    with that queue."""
    queue, namespace = job.settings.kueue_queue, job.settings.namespace
    if not queue or not kind.queued:
        return job, []
    newer = _served(kube, LOCAL_QUEUES)
    if not newer and not _served(kube, OLDER_LOCAL_QUEUES):
        note = (
            f"train_queue {queue} is not used: the cluster has no Kueue, and {kind.name} needs it"
        )
        return replace(job, share=replace(job.share, notes=(*job.share.notes, note))), []
    hidden: dict[str, Any] = {}
    local_queue = if_allowed(
        lambda: (
            kube.get(LOCAL_QUEUES, namespace, queue)
            if newer
            else kube.get(OLDER_LOCAL_QUEUES, namespace, queue)
        ),
        hidden,
    )
    if local_queue is None:
        return job, [
            f'there is no LocalQueue "{queue}" in namespace {namespace} (train_queue); kubectl get'
            f" localqueues -n {namespace} shows those that there are"
        ]
    for condition in (local_queue.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Active" and str(condition.get("status")) == "False":
            return job, [f'the LocalQueue "{queue}" takes no jobs: {condition.get("message")}']
    return replace(job, queue=queue), []


def queue_of(job: Thing | None) -> str:
    """The queue that a job was submitted to; nothing where there is none."""
    return str((((job or {}).get("metadata") or {}).get("labels") or {}).get(QUEUE_LABEL) or "")


def with_waiting(job: Thing, status: Status) -> Status:
    """A suspended job that has a queue waits in it."""
    spec = job.get("spec") or {}
    suspended = spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend")
    queue = queue_of(job)
    if not queue or not suspended or status.state not in ("pending", "running"):
        return status
    return Status("pending", QUEUED, f"it waits in the queue {queue} of Kueue")


def workload_of(kube: Kube, namespace: str, job: Thing | None) -> Thing | None:
    """What Kueue has written down of a job."""
    if not queue_of(job) or job is None:
        return None
    newer = _served(kube, WORKLOADS)
    if not newer and not _served(kube, OLDER_WORKLOADS):
        return None
    workloads = if_allowed(
        lambda: (
            kube.listing(WORKLOADS, namespace).items
            if newer
            else kube.listing(OLDER_WORKLOADS, namespace).items
        ),
        [],
    )
    uid = job["metadata"].get("uid")
    for workload in workloads:
        owners = workload["metadata"].get("ownerReferences") or ()
        if any(owner.get("uid") == uid for owner in owners):
            return workload
    return None


def _served(kube: Kube, resource: Resource) -> bool:
    return kube.resource(resource.api_version, resource.kind) is not None
