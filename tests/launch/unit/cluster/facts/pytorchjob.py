"""The small network on CPUs, as Kubeflow's training operator reads it: a master and a worker."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.guides import ID
from tests.launch.unit.cluster.facts.shared_rows import meeting, pod, values, who
from tests.launch.unit.cluster.facts.table import ABSENT, Row

SPEC = "PyTorchJob.spec"


def rows(job: ClusterJob) -> list[Row]:
    return [
        *who("PyTorchJob", "kubeflow.org/v1", "6.2 kind", job),
        (f"{SPEC}.nprocPerNode", "2", "6.2 injected"),  # by which the operator counts WORLD_SIZE
        *policy(backoff=6),
        (f"{SPEC}.elasticPolicy", ABSENT, "6.2 cpu replicas"),
        *(
            row
            for role in ("Master", "Worker")
            for row in _replica(f"{SPEC}.pytorchReplicaSpecs.{role}", job)
        ),
    ]


def policy(backoff: int) -> list[Row]:
    return [
        (
            f"{SPEC}.runPolicy.cleanPodPolicy",
            "None",
            "6.2 cleanPodPolicy",
        ),  # pods stay, and with them their logs
        (f"{SPEC}.runPolicy.backoffLimit", backoff, "ours: torchrun's own restarts, for each node"),
    ]


def _replica(path: str, job: ClusterJob) -> list[Row]:
    template = f"{path}.template"
    return [
        (f"{path}.replicas", 1, "6.2 cpu replicas"),  # and never more than one Master
        (f"{path}.restartPolicy", "OnFailure", "6.2 restartPolicy"),
        (f"{template}.spec.restartPolicy", "OnFailure", "6.2 restartPolicy"),
        *pod(template, job, claim="efs-claim"),
        (
            f"{template}.spec.volumes.dshm.emptyDir.sizeLimit",
            "4Gi",
            "ours: half of the node's memory",
        ),
        *meeting(
            template, "2", 2, f"{ID}-master-0:29500", "6.2 cpu rendezvous"
        ),  # the Service's short name: same namespace
        (
            f"{template}.spec.containers.pytorch.args.--node_rank",
            ABSENT,
            "6.2 cpu node_rank; ours: the rendezvous gives ranks",
        ),
        (f"{template}.spec.containers.pytorch.resources.requests.cpu", "1800m", "13.3 m5.large"),
        (
            f"{template}.spec.nodeSelector.node.kubernetes.io/instance-type",
            "m5.large",
            "6.2 nodeSelector",
        ),
        (f"{template}.spec.serviceAccountName", "pytorch-training-sa", "6.2 cpu service account"),
        *values(
            template,
            "ours: the pod at which all meet knows itself",
            TRAINER_FIRST=f"POD_NAME={ID}-master-0",
        ),
        *values(template, "ours: two processes on two cores", OMP_NUM_THREADS="1"),
        *values(
            template,
            "ours: each rank's last collectives are kept, to tell who hung",
            TORCH_FR_BUFFER_SIZE="64",
        ),
    ]
