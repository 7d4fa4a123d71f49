"""Runs as gangs: Volcano places all pods of a run at once or none, in a queue that has room for
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.optional import if_allowed
from playrunner.kube.client.resource import Resource
from playrunner.project import program
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.node_capacity import amount
from playrunner.training.kube.launchers.kind import Kind

QUEUES = Resource("scheduling.volcano.sh/v1beta1", "Queue", "queues", False)
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments", True)
VOLCANO = "volcano"
OPERATOR = "training-operator"  # Kubeflow's, in all its releases
_IN_BYTES = ("memory", "ephemeral-storage")


def in_gang(job: ClusterJob, kind: Kind) -> bool:
    return kind.gang or (kind.gang_by_operator and job.settings.scheduler == VOLCANO)


def with_note(job: ClusterJob, kind: Kind) -> ClusterJob:
    """A scheduler that is named and has no part in this kind of job is told."""
    if not job.settings.scheduler or in_gang(job, kind):
        return job
    note = f"train_scheduler {job.settings.scheduler} is not used: it is for pytorchjob and vcjob"
    return replace(job, share=replace(job.share, notes=(*job.share.notes, note)))


def gang_problems(kube: Kube, job: ClusterJob, kind: Kind) -> list[str]:
    """Why the run would start without being a gang, or would wait for ever."""
    return _operator_problems(kube, kind) or _queue_problems(kube, job)


def is_gang(kind: Kind, submitted: Mapping[str, Any] | None) -> bool:
    """Whether a run that was submitted is one."""
    policy = ((submitted or {}).get("spec") or {}).get("runPolicy") or {}
    return kind.gang or (kind.gang_by_operator and bool(policy.get("schedulingPolicy")))


def _operator_problems(kube: Kube, kind: Kind) -> list[str]:
    """An operator that was not told of Volcano passes over the policy without a word, and each pod
    is placed by itself. One that cannot be seen, or is elsewhere, is trusted."""
    if not kind.gang_by_operator:
        return []
    operator = if_allowed(lambda: kube.get(DEPLOYMENTS, kind.controller[0], OPERATOR), None)
    if operator is None:
        return []
    containers = operator["spec"]["template"]["spec"]["containers"]
    words = [word for one in containers for word in [*one.get("command", ()), *one.get("args", ())]]
    if any(word.lstrip("-") == f"gang-scheduler-name={VOLCANO}" for word in words):
        return []
    return [
        f"the training operator makes no gangs: {kind.needs} --extra-vars"
        " kubeflow_gang_scheduler=volcano, or take train_scheduler out of the inventory"
    ]


def _queue_problems(kube: Kube, job: ClusterJob) -> list[str]:
    """A gang that is larger than its queue would wait for ever."""
    queue = job.settings.queue
    hidden: dict[str, Any] = {}
    queue_object = if_allowed(lambda: kube.get(QUEUES, "", queue), hidden)
    if queue_object is None:
        return [f'there is no queue "{queue}" (train_queue); {program()} volcano.create makes one']
    state = str((queue_object.get("status") or {}).get("state") or "Open")
    if state != "Open":
        return [f'the queue "{queue}" is {state}: it takes no jobs']
    capability = (queue_object.get("spec") or {}).get("capability") or {}
    limits = {name: amount(value) for name, value in capability.items()}
    members = job.elastic[0] if job.elastic else job.nodes
    share = {**dict(job.share.requests), **dict(job.share.resources)}
    asked = {name: amount(value) * members for name, value in share.items()}
    beyond = [name for name, value in asked.items() if name in limits and value > limits[name]]
    if not beyond:
        return []
    return [
        f'the queue "{queue}" gives {_listed(limits, beyond)} at most, and the job asks for'
        f" {_listed(asked, beyond)}: raise its capability ({program()} volcano.create sizes it from"
        " the nodes), or use fewer nodes"
    ]


def _listed(amounts: Mapping[str, float], names: list[str]) -> str:
    return ", ".join(
        f"{amounts[name] / 2**30:.4g}Gi {name}"
        if name in _IN_BYTES
        else f"{amounts[name]:g} {name}"
        for name in names
    )
