"""The ElasticJob controller's way: workers only, each container's arguments begin with how to find
the rendezvous."""

from __future__ import annotations

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.installed import ELASTIC_JOB_CONTROLLER
from playrunner.sandbox.kube.operators.kinds import ELASTIC_JOBS
from playrunner.sandbox.kube.operators.replicated.spec import (
    Dialect,
    ReplicaJob,
    Replicas,
    RunPolicy,
    Tally,
    replicas_of,
)

COMPONENT = "elastic-job-controller"
DEFAULT_PORT = {"name": "elastic-port", "port": 10291}


def read(job: Object) -> ReplicaJob:
    """Its run policy stands in the spec itself; a nested one is not known to it."""
    replicas = replicas_of(
        job["spec"].get("replicaSpecs") or {}, ("Worker",), default_restart="Never"
    )
    return ReplicaJob(job, replicas, RunPolicy.of(job["spec"]))


def labels(job: ReplicaJob, replicas: Replicas, index: int) -> dict[str, str]:
    return {
        "group-name": ELASTIC_JOBS.group,
        "controller-name": COMPONENT,
        "job-name": job.name,
        "replica-type": replicas.word,
        "replica-index": str(index),
    }


def complete(job: ReplicaJob, replicas: Replicas, index: int, pod: Object) -> None:
    """The entry point has to be a launcher that understands these."""
    least, most = (job.spec.get(name) or replicas.count for name in ("minReplicas", "maxReplicas"))
    where = [
        "--rdzv_backend=etcd",
        f"--rdzv_endpoint={job.spec['rdzvEndpoint']}",
        f"--rdzv_id={job.name}",
        f"--nnodes={least}:{most}",
    ]
    for container in pod["spec"].get("containers") or ():
        container["args"] = [*where, *(container.get("args") or ())]


def ports(job: ReplicaJob, replicas: Replicas) -> list[Object]:
    containers = (replicas.template.get("spec") or {}).get("containers") or ()
    declared = [one for container in containers for one in container.get("ports") or ()]
    return [
        {"name": one.get("name") or f"port-{one['containerPort']}", "port": one["containerPort"]}
        for one in declared
    ] or [dict(DEFAULT_PORT)]


def succeeded(job: ReplicaJob, tallies: dict[str, Tally]) -> bool:
    return bool(tallies) and all(one.succeeded >= one.wanted > 0 for one in tallies.values())


DIALECT = Dialect(
    resource=ELASTIC_JOBS,
    operator=ELASTIC_JOB_CONTROLLER,
    component=COMPONENT,
    container="elasticjob-worker",
    read=read,
    labels=labels,
    complete=complete,
    ports=ports,
    succeeded=succeeded,
    whole_status=True,
)
