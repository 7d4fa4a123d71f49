"""Minimal jobs for the operators' tests, and pods in the states that tests need."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def template(script: str = "exit 0", container: str = "pytorch", **spec: Any) -> Object:
    """A pod that runs a line of shell."""
    main = {"name": container, "image": "trainer:1", "command": ["sh", "-c", script]}
    return {"spec": {"terminationGracePeriodSeconds": 1, "containers": [main], **spec}}


def pytorch_job(
    name: str,
    namespace: str = "default",
    *,
    masters: int = 0,
    workers: int = 2,
    script: str = "exit 0",
    restart: str = "OnFailure",
    policy: Object | None = None,
    **spec: Any,
) -> Object:

    def replicas(count: int) -> Object:
        return {"replicas": count, "restartPolicy": restart, "template": template(script)}

    kinds = {"Master": masters, "Worker": workers}
    specs = {kind: replicas(count) for kind, count in kinds.items() if count}
    return _named(
        "kubeflow.org/v1",
        "PyTorchJob",
        name,
        namespace,
        pytorchReplicaSpecs=specs,
        runPolicy=policy or {},
        **spec,
    )


def elastic_job(name: str, namespace: str = "default", *, workers: int = 2, script: str = "exit 0",
                restart: str = "ExitCode", **spec: Any) -> Object:  # fmt: skip
    worker = {
        "replicas": workers,
        "restartPolicy": restart,
        "template": template(script, "elasticjob-worker"),
    }
    defaults = {
        "rdzvEndpoint": "etcd-service:2379",
        "minReplicas": 1,
        "maxReplicas": 3,
        "replicaSpecs": {"Worker": worker},
    }
    return _named(
        "elastic.pytorch.org/v1alpha1", "ElasticJob", name, namespace, **{**defaults, **spec}
    )


def volcano_job(
    name: str,
    namespace: str = "default",
    *,
    tasks: dict[str, Object] | None = None,
    script: str = "exit 0",
    **spec: Any,
) -> Object:
    """`tasks`: by name, what differs from one replica of the script."""
    written = [
        {"name": task, "replicas": 1, "template": template(script, restartPolicy="Never"), **given}
        for task, given in (tasks or {"role-0": {}, "role-1": {}}).items()
    ]
    return _named("batch.volcano.sh/v1alpha1", "Job", name, namespace, tasks=written, **spec)


def pod_now(
    pod: Object,
    phase: str = "Running",
    *,
    exit_code: int | None = None,
    uid: str = "",
    restarts: int = 0,
) -> Object:
    """The same pod, further on."""
    state: Object = {} if exit_code is None else {"terminated": {"exitCode": exit_code}}
    main = {"name": pod["spec"]["containers"][0]["name"], "state": state, "restartCount": restarts}
    metadata = {**pod["metadata"], "uid": uid or f"uid-of-{pod['metadata']['name']}"}
    spec = {**pod["spec"], "nodeName": "node-1"}
    return {
        **pod,
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "containerStatuses": [main]},
    }


def variables(pod: Object) -> dict[str, Any]:
    """The environment of a pod's first container, by name; where it is found, for what is kept
    elsewhere."""
    return {
        one["name"]: one.get("value", one.get("valueFrom"))
        for one in pod["spec"]["containers"][0].get("env", ())
    }


def _named(version: str, kind: str, name: str, namespace: str, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
