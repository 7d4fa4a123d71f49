"""elasticjob: TorchElastic's own controller, which puts the rendezvous and the number of nodes
before a pod's arguments."""

from __future__ import annotations

from typing import Any

from playrunner.project import program
from playrunner.training.kube.job_spec.command import (
    common_flags,
    endpoint,
    restart_policy,
    trainer_words,
)
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.pod import pod_metadata, pod_spec
from playrunner.training.kube.launchers.kind import Kind, from_conditions


def _first_pod(job: ClusterJob) -> str:
    return f"{job.run_id}-worker-0"


def _fill(job: ClusterJob) -> dict[str, Any]:
    restart = restart_policy(job)
    # The controller asks for etcd, whatever is wanted; of two flags the later one counts.
    other = (
        [f"--rdzv_backend={job.settings.rendezvous}"] if job.settings.rendezvous != "etcd" else []
    )
    arguments = [
        f"--nproc_per_node={job.share.processes}",
        *other,
        *common_flags(job),
        *trainer_words(job),
    ]
    least, most = job.elastic or (job.nodes, job.nodes)
    return {
        "pod": {
            "metadata": pod_metadata(job),
            "spec": pod_spec(job, arguments, f"POD_NAME={_first_pod(job)}", restart),
        },
        "restart_policy": restart,
        "endpoint": endpoint(job, _first_pod(job)),
        "least": least,
        "most": most,
        "retries": job.profile.launch.max_restarts * job.nodes,
    }


LAUNCHER = Kind(
    "elasticjob",
    ("elastic.pytorch.org/v1alpha1", "ElasticJob"),
    f"{program()} elastic.create",
    _fill,
    _first_pod,
    lambda job: [f"{job.run_id}-worker-{at}" for at in range(job.nodes)],
    from_conditions,
    ("spec", "replicaSpecs", "Worker", "replicas"),
    controller=("elastic-job", "elastic"),
)
