"""The pods and services of a job of numbered replicas: one of each for every index, of the same
name."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.objects import headless_service, pod_from
from playrunner.sandbox.kube.operators.pod_group import GROUP_NAME, SCHEDULER_NAME
from playrunner.sandbox.kube.operators.replicated.spec import Dialect, ReplicaJob, Replicas


def pod_of(
    dialect: Dialect, job: ReplicaJob, replicas: Replicas, index: int, group: str = ""
) -> Object:
    """`group`: the pod group it is scheduled with, when the operator schedules in gangs."""
    annotations = {GROUP_NAME: group, "volcano.sh/task-spec": replicas.word} if group else {}
    labels = dialect.labels(job, replicas, index)
    pod = pod_from(
        replicas.template, job.object, job.pod_name(replicas, index), labels, annotations
    )
    # Only the operator knows what ExitCode means; to the node it says: leave it ended.
    pod["spec"]["restartPolicy"] = "Never" if replicas.restart == "ExitCode" else replicas.restart
    if group:
        pod["spec"]["schedulerName"] = SCHEDULER_NAME
    dialect.complete(job, replicas, index, pod)
    return pod


def service_of(dialect: Dialect, job: ReplicaJob, replicas: Replicas, index: int) -> Object:
    labels = dialect.labels(job, replicas, index)
    return headless_service(
        job.object, job.pod_name(replicas, index), labels, dialect.ports(job, replicas)
    )


def index_of(pod: Object, job: ReplicaJob, replicas: Replicas) -> int | None:
    """Which replica of this kind it is; None when it is none of them."""
    prefix = f"{job.name}-{replicas.word}-"
    rest = pod["metadata"]["name"].removeprefix(prefix)
    return int(rest) if pod["metadata"]["name"].startswith(prefix) and rest.isdigit() else None
