"""pytorchjob: Kubeflow's training operator; a master and workers, or workers alone between a least
and a most."""

from __future__ import annotations

from typing import Any

from playrunner.project import program
from playrunner.training.kube.job_spec.command import (
    endpoint,
    restart_policy,
    torchrun_flags,
    trainer_words,
)
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.launchers.kind import Kind, from_conditions


def _first_pod(job: ClusterJob) -> str:
    return f"{job.run_id}-worker-0" if job.elastic else f"{job.run_id}-master-0"


def _fill(job: ClusterJob) -> dict[str, Any]:
    restart = restart_policy(job)
    meet = endpoint(job, _first_pod(job))
    pod = {
        "metadata": pod_metadata(job),
        "spec": pod_spec(
            job,
            [*torchrun_flags(job, meet), *trainer_words(job)],
            f"POD_NAME={_first_pod(job)}",
            restart,
        ),
    }
    replicas = (
        {"Worker": job.nodes}
        if job.elastic
        else {"Master": 1, **({"Worker": job.nodes - 1} if job.nodes > 1 else {})}
    )
    host, _, port = meet.rpartition(":")
    least, most = job.elastic or (0, 0)
    policy = {
        "rdzvBackend": job.settings.rendezvous,
        "rdzvHost": host,
        "rdzvPort": int(port),
        "rdzvId": job.run_id,
        "minReplicas": least,
        "maxReplicas": most,
        "maxRestarts": job.profile.launch.max_restarts,
    }
    return {
        "pod": pod,
        "replicas": replicas,
        "restart_policy": restart,
        "elastic": policy if job.elastic else None,
        "processes": str(job.share.processes),
        "retries": job.profile.launch.max_restarts * job.nodes,
        "scheduling": _scheduling(job) if job.settings.scheduler else None,
    }


def _scheduling(job: ClusterJob) -> dict[str, Any]:
    """What the operator makes the gang's PodGroup of; an elastic run begins with its least."""
    least = job.elastic[0] if job.elastic else job.nodes
    policy = {"minAvailable": least, "queue": job.settings.queue}
    priority = job.settings.priority_class
    return {**policy, "priorityClass": priority} if priority else policy


def _pods(job: ClusterJob) -> list[str]:
    if job.elastic:
        return [f"{job.run_id}-worker-{at}" for at in range(job.nodes)]
    return [f"{job.run_id}-master-0", *(f"{job.run_id}-worker-{at}" for at in range(job.nodes - 1))]


LAUNCHER = Kind(
    "pytorchjob",
    ("kubeflow.org/v1", "PyTorchJob"),
    f"{program()} kubeflow.create",
    _fill,
    _first_pod,
    _pods,
    from_conditions,
    ("spec", "pytorchReplicaSpecs", "Worker", "replicas"),
    gang_by_operator=True,
    queued=True,
    controller=("kubeflow", "kubeflow"),
)
