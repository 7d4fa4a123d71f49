"""Jobs that measure bandwidth in a cluster: nccl-tests under mpirun (MPIJob), or our own measure
under torchrun (PyTorchJob)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.training.netcheck.sizes import NCCL_TESTS

CONTAINER = "pytorch"  # the name that the training operator insists on
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"
HUGE_PAGES, MEMORY = (
    "5120Mi",
    "32000Mi",
)  # what libfabric takes for its buffers with all cards at work


@frozen
class Bench:
    """What is measured where."""

    name: str
    namespace: str
    image: str
    nodes: int
    slots: int  # ranks on each
    flags: tuple[str, ...]  # sizes, as all_reduce_perf takes them
    gpus: int = 0
    cards: int = 0  # EFA
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    pod: Mapping[str, Any] = field(
        default_factory=dict
    )  # node selector, tolerations, service account
    pull_policy: str = "IfNotPresent"
    python: str = "python3"


def mpi_job(bench: Bench) -> dict[str, Any]:
    """A launcher without devices of its own, and a worker for each node."""
    exported = [
        word
        for name, value in sorted(bench.environment.items())
        for word in ("-x", f"{name}={value}")
    ]
    command = [
        "mpirun",
        "--allow-run-as-root",
        "--tag-output",
        "-np",
        str(bench.nodes * bench.slots),
        "--bind-to",
        "none",
        *exported,
        "-x",
        "NCCL_DEBUG=INFO",
        NCCL_TESTS,
        *bench.flags,
        "-g",
        "1",
        "-c",
        "1",
    ]
    launcher = _template(
        bench,
        {
            "name": "launcher",
            "image": bench.image,
            "imagePullPolicy": bench.pull_policy,
            "command": command,
        },
        devices=False,
    )
    worker = _template(
        bench,
        {
            "name": "worker",
            "image": bench.image,
            "imagePullPolicy": bench.pull_policy,
            "resources": _resources(bench),
        },
        devices=True,
    )
    return _job(
        bench,
        "kubeflow.org/v2beta1",
        "MPIJob",
        {
            "slotsPerWorker": bench.slots,
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launcher},
                "Worker": {"replicas": bench.nodes, "restartPolicy": "Never", "template": worker},
            },
        },
    )


def pytorch_job(bench: Bench) -> dict[str, Any]:
    """A pod for each node; the operator tells them where to meet."""
    command = [
        bench.python,
        "-m",
        "torch.distributed.run",
        f"--nproc-per-node={bench.slots}",
        "-m",
        "trainer.netcheck.all_reduce_perf",
        *bench.flags,
    ]
    container = {
        "name": CONTAINER,
        "image": bench.image,
        "imagePullPolicy": bench.pull_policy,
        "command": command,
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "NCCL_DEBUG", "value": "INFO"},
            *({"name": name, "value": value} for name, value in sorted(bench.environment.items())),
        ],
        **({"resources": _resources(bench)} if bench.gpus else {}),
    }
    replica = {"restartPolicy": "Never", "template": _template(bench, container, devices=True)}
    replicas = {"Master": {"replicas": 1, **replica}}
    if bench.nodes > 1:
        replicas["Worker"] = {"replicas": bench.nodes - 1, **replica}
    return _job(
        bench,
        "kubeflow.org/v1",
        "PyTorchJob",
        {
            "nprocPerNode": str(bench.slots),
            "runPolicy": {"cleanPodPolicy": "None", "backoffLimit": 0},
            "pytorchReplicaSpecs": replicas,
        },
    )


def _job(bench: Bench, version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": kind,
        "spec": spec,
        "metadata": {
            "name": bench.name,
            "namespace": bench.namespace,
            "labels": dict(bench.labels),
        },
    }


def _template(bench: Bench, container: dict[str, Any], devices: bool) -> dict[str, Any]:
    """With devices: one pod on each node, and the node's own shared memory."""
    spec: dict[str, Any] = {"containers": [container], **bench.pod}
    if devices:
        spec["affinity"] = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {**bench.labels, "bench-part": "rank"}},
                    }
                ]
            }
        }
        spec["volumes"] = [{"name": "shm", "hostPath": {"path": "/dev/shm"}}] if bench.gpus else []
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}] if bench.gpus else []
    return {
        "metadata": {
            "labels": {**bench.labels, "bench-part": "rank" if devices else "launcher"},
            "annotations": {"sidecar.istio.io/inject": "false"},
        },
        "spec": spec,
    }


def _resources(bench: Bench) -> dict[str, Any]:
    wanted = {
        GPU: str(bench.gpus),
        EFA: str(bench.cards),
        "hugepages-2Mi": HUGE_PAGES if bench.cards else "0",
        "memory": MEMORY,
    }
    asked = {name: value for name, value in wanted.items() if value != "0"} if bench.gpus else {}
    return {"requests": asked, "limits": asked} if asked else {}
