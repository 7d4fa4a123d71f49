"""The training operator's way with a PyTorchJob: a master and workers, or workers that find each
other elastically."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from playrunner.sandbox.kube.controllers.framework.resources import Object, owned
from playrunner.sandbox.kube.operators.installed import TRAINING_OPERATOR
from playrunner.sandbox.kube.operators.kinds import PYTORCH_JOBS
from playrunner.sandbox.kube.operators.objects import add_variables, container_named
from playrunner.sandbox.kube.operators.replicated.spec import (
    Dialect,
    ReplicaJob,
    Replicas,
    RunPolicy,
    Tally,
    replicas_of,
)

COMPONENT = "pytorchjob-controller"
CONTAINER = "pytorch"
PORT_NAME, DEFAULT_PORT = "pytorchjob-port", 23456
TEMPLATE_FILE = "/etc/config/initContainer.yaml"
_IMAGE, _TRIES = "alpine:3.10", "100"
_PREFIX = "training.kubeflow.org"


def read(job: Object) -> ReplicaJob:
    replicas = replicas_of(
        job["spec"].get("pytorchReplicaSpecs") or {},
        ("Master", "Worker"),
        default_restart="OnFailure",
    )
    return ReplicaJob(job, replicas, RunPolicy.of(job["spec"].get("runPolicy") or {}))


def labels(job: ReplicaJob, replicas: Replicas, index: int) -> dict[str, str]:
    role = {f"{_PREFIX}/job-role": "master"} if replicas.kind == "Master" else {}
    return {
        f"{_PREFIX}/operator-name": COMPONENT,
        f"{_PREFIX}/job-name": job.name,
        f"{_PREFIX}/replica-type": replicas.word,
        f"{_PREFIX}/replica-index": str(index),
        **role,
    }


def complete(
    job: ReplicaJob, replicas: Replicas, index: int, pod: Object, template: str | None = None
) -> None:
    """`template`: of the containers that wait for the master, where the operator was given one."""
    add_variables(pod, variables(job, replicas, index))
    container = container_named(pod, CONTAINER)
    declared = container.get("ports") or []
    if not any(one.get("name") == PORT_NAME for one in declared):
        container["ports"] = [
            *declared,
            {"name": PORT_NAME, "containerPort": DEFAULT_PORT, "protocol": "TCP"},
        ]
    master = job.of_kind("Master")
    if master is not None and replicas.kind == "Worker":
        name = job.pod_name(master, 0)
        waiting = [_wait_for(name)] if template is None else _filled(template, name)
        pod["spec"]["initContainers"] = [*(pod["spec"].get("initContainers") or ()), *waiting]


def variables(job: ReplicaJob, replicas: Replicas, index: int) -> dict[str, Any]:
    """What the launcher in the container reads; an elastic policy speaks torchrun's own PET_
    language."""
    master, elastic = job.of_kind("Master"), job.spec.get("elasticPolicy")
    per_node = str(job.spec.get("nprocPerNode") or (elastic or {}).get("nProcPerNode") or "auto")
    values: dict[str, Any] = {"PYTHONUNBUFFERED": "1"}
    if master is not None:
        address, port = job.pod_name(master, 0), _port(master)
        rank = index if replicas.kind == "Master" else index + 1
        context = job.total * (int(per_node) if per_node.isdigit() else 1)
        values |= {
            "MASTER_PORT": port,
            "PET_MASTER_PORT": port,
            "MASTER_ADDR": address,
            "PET_MASTER_ADDR": address,
        }
        values |= {
            "WORLD_SIZE": context,
            "RANK": rank,
            "PET_NPROC_PER_NODE": per_node,
            "PET_NODE_RANK": rank,
        }
    return values | (_elastic_variables(job, elastic) if elastic else {"PET_NNODES": job.total})


def _elastic_variables(job: ReplicaJob, policy: Object) -> dict[str, Any]:
    workers = job.of_kind("Worker")
    assert workers is not None, "an elastic job has workers: its admission sees to it"
    host = policy.get("rdzvHost") or job.pod_name(workers, 0)
    least, most = (policy.get(name) or workers.count for name in ("minReplicas", "maxReplicas"))
    values: dict[str, Any] = {
        "PET_RDZV_ENDPOINT": f"{host}:{policy.get('rdzvPort') or _port(workers)}",
        "PET_RDZV_BACKEND": policy.get("rdzvBackend") or "c10d",
        "PET_NNODES": f"{least}:{most}",
    }
    optional = {
        "PET_NPROC_PER_NODE": policy.get("nProcPerNode") or job.spec.get("nprocPerNode"),
        "PET_MAX_RESTARTS": policy.get("maxRestarts"),
        "PET_RDZV_ID": policy.get("rdzvId"),
        "PET_RDZV_CONF": (
            ",".join(f"{one['key']}={one['value']}" for one in policy.get("rdzvConf") or ()) or None
        ),
        "PET_STANDALONE": "" if policy.get("standalone") else None,
    }
    return values | {name: value for name, value in optional.items() if value is not None}


def ports(job: ReplicaJob, replicas: Replicas) -> list[Object]:
    service_ports = [
        {"name": port.get("name") or f"port-{port['containerPort']}", "port": port["containerPort"]}
        for port in _declared(replicas)
    ]
    known = any(port["name"] == PORT_NAME for port in service_ports)
    return service_ports if known else [*service_ports, {"name": PORT_NAME, "port": DEFAULT_PORT}]


def succeeded(job: ReplicaJob, tallies: dict[str, Tally]) -> bool:
    """As the master does; without one, as all workers do, or as the first when they are elastic."""
    leading = tallies.get("Master") or tallies.get("Worker")
    if leading is None:
        return False
    if "Master" not in tallies and job.spec.get("elasticPolicy"):
        return leading.succeeded > 0
    return leading.succeeded >= leading.wanted > 0


def autoscaler(job: ReplicaJob) -> Object | None:
    """The HorizontalPodAutoscaler that metrics in the elastic policy ask for; nothing here measures
    for it."""
    policy = job.spec.get("elasticPolicy") or {}
    if not policy.get("metrics"):
        return None
    target = {"apiVersion": PYTORCH_JOBS.api_version, "kind": PYTORCH_JOBS.kind, "name": job.name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": job.name,
            "namespace": job.object["metadata"]["namespace"],
            "ownerReferences": owned(job.object),
        },
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": policy.get("minReplicas") or 1,
            "maxReplicas": policy.get("maxReplicas") or job.total,
            "metrics": policy["metrics"],
        },
    }


def _port(replicas: Replicas) -> int:
    return next(
        (int(one["containerPort"]) for one in _declared(replicas) if one.get("name") == PORT_NAME),
        DEFAULT_PORT,
    )


def _declared(replicas: Replicas) -> list[Object]:
    containers = (replicas.template.get("spec") or {}).get("containers") or [{}]
    chosen = next((one for one in containers if one.get("name") == CONTAINER), containers[0])
    return list(chosen.get("ports") or ())


def _wait_for(master: str) -> Object:
    """Until the master's name is known: workers that start before it would give up."""
    script = (
        f"for attempt in $(seq 200); do getent hosts {master} && exit 0; echo waiting for {master};"
        " sleep 1; done; exit 1"
    )
    return {
        "name": "init-pytorch",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
    }


def _filled(template: str, master: str) -> list[Object]:
    for name, value in (
        ("InitContainerImage", _IMAGE),
        ("MasterAddr", master),
        ("MaxTries", _TRIES),
    ):
        template = template.replace(f"{{{{.{name}}}}}", value)
    return list(yaml.safe_load(template))


def dialect(template: str | None) -> Dialect:
    return replace(DIALECT, complete=partial(complete, template=template))


DIALECT = Dialect(
    resource=PYTORCH_JOBS,
    operator=TRAINING_OPERATOR,
    component=COMPONENT,
    container=CONTAINER,
    read=read,
    labels=labels,
    complete=complete,
    ports=ports,
    succeeded=succeeded,
    autoscaler=autoscaler,
)
