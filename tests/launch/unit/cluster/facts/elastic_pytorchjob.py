"""Llama 2 with FSDP, as Kubeflow's training operator reads it: workers alone, between a least and a
most."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.elasticjob import nccl
from tests.launch.unit.cluster.facts.guides import ID
from tests.launch.unit.cluster.facts.pytorchjob import SPEC, policy
from tests.launch.unit.cluster.facts.shared_rows import device, meeting, pod, tolerated, values, who
from tests.launch.unit.cluster.facts.table import ABSENT, Row

ELASTIC = f"{SPEC}.elasticPolicy"
WORKER = f"{SPEC}.pytorchReplicaSpecs.Worker"
POD = f"{WORKER}.template"
ARGS = f"{POD}.spec.containers.pytorch.args"


def rows(job: ClusterJob) -> list[Row]:
    return [
        *who("PyTorchJob", "kubeflow.org/v1", "6.2 kind", job),
        (f"{SPEC}.nprocPerNode", "8", "6.2 injected"),
        *policy(backoff=800),
        *_elastic(),
        (f"{SPEC}.pytorchReplicaSpecs.Master", ABSENT, "6.2 fsdp replicas"),
        (f"{WORKER}.replicas", 8, "6.2 fsdp replicas"),
        (f"{WORKER}.restartPolicy", "OnFailure", "6.2 restartPolicy"),
        (f"{POD}.spec.restartPolicy", "OnFailure", "6.2 restartPolicy"),
        *pod(POD, job, claim="fsx-claim"),
        (
            f"{POD}.metadata.labels.app",
            ABSENT,
            "6.2 fsdp label; ours: app.kubernetes.io/name says it",
        ),
        (
            f"{POD}.spec.volumes.dshm.emptyDir.sizeLimit",
            "576Gi",
            "6.2 fsdp shm; ours: the pod's own, half of the node's"
            " memory; the host's /dev/shm would be shared by all jobs there",
        ),
        (
            f"{POD}.spec.volumes.local",
            ABSENT,
            "6.2 fsdp local; ours: only traces went there, and they are on the claim",
        ),
        # --nnodes says least and most: an explicit number would overrule what the operator injects,
        # and the job not be elastic.
        *meeting(POD, "1:64", 8, f"{ID}-worker-0:29500", "6.2 fsdp command", restarts=100),
        *device(POD, nvidia_com__gpu="8", vpc_amazonaws_com__efa="4"),
        *tolerated(POD, "nvidia.com/gpu", "2 taint"),
        (
            f"{POD}.spec.nodeSelector.node.kubernetes.io/instance-type",
            "p4d.24xlarge",
            "6.2 nodeSelector",
        ),
        *values(
            POD,
            "ours: the pod at which all meet knows itself",
            TRAINER_FIRST=f"POD_NAME={ID}-worker-0",
        ),
        *values(POD, "ours: 96 cores for 8 processes", OMP_NUM_THREADS="12"),
        *nccl(POD, "/data/runs/bert/output"),
        *_with_cards(),
    ]


def _elastic() -> list[Row]:
    return [
        (
            f"{ELASTIC}.rdzvBackend",
            "c10d",
            "6.2 fsdp elastic; ours: c10d by default, as the guide's later revision",
        ),
        (
            f"{ELASTIC}.rdzvHost",
            f"{ID}-worker-0",
            "6.2 fsdp elastic; ours: what the operator would take as well",
        ),
        (
            f"{ELASTIC}.rdzvPort",
            29500,
            "6.2 fsdp elastic; ours: the port that the container declares",
        ),
        (
            f"{ELASTIC}.rdzvId",
            ID,
            "6.2 stop the previous",
        ),  # without one, the next run would meet what is left of this one
        (f"{ELASTIC}.minReplicas", 1, "6.2 fsdp elastic"),
        (f"{ELASTIC}.maxReplicas", 64, "6.2 fsdp elastic"),
        (f"{ELASTIC}.maxRestarts", 100, "6.2 fsdp elastic"),
        (
            f"{ELASTIC}.metrics",
            ABSENT,
            "6.2 fsdp metrics; ours: busy cores do not say how many GPUs are needed",
        ),
    ]


def _with_cards() -> list[Row]:
    optional = {
        "FI_PROVIDER": "aws-ofi-nccl asks for EFA by itself since 1.6",
        "FI_EFA_USE_DEVICE_RDMA": "aws-ofi-nccl turns it on where the cards can do it since 1.7",
        "FI_EFA_FORK_SAFE": "with huge pages off a fork is safe",
        "FI_LOG_LEVEL": "NCCL's own lines name the provider",
        "FI_EFA_ENABLE_SHM_TRANSFER": "NCCL has its own way between the GPUs of a machine",
    }
    return [
        *values(
            POD,
            "6.2 env PYTORCH_CUDA_ALLOC_CONF",
            PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True",
        ),
        *values(POD, "6.2 env NCCL_DEBUG", NCCL_DEBUG="INFO"),
        *values(POD, "ours: only the lines that name the provider", NCCL_DEBUG_SUBSYS="INIT,NET"),
        *values(POD, "6.2 FI rule", FI_EFA_USE_HUGE_PAGE="0"),
        *(
            row
            for name, why in optional.items()
            for row in values(POD, f"6.2 env {name}; ours: {why}", **{name: ABSENT})
        ),
        *values(
            POD,
            "6.2 FI rule",
            RDMAV_FORK_SAFE=ABSENT,
            NCCL_PROTO=ABSENT,
            FI_EFA_SET_CUDA_SYNC_MEMOPS=ABSENT,
        ),
    ]


def with_etcd(job: ClusterJob) -> list[Row]:
    """What differs when a store is asked for, as in the guide."""
    fact = "6.2 fsdp elastic"
    other = {
        f"{ELASTIC}.rdzvBackend": ("etcd", fact),
        f"{ELASTIC}.rdzvHost": ("etcd", fact),
        f"{ELASTIC}.rdzvPort": (2379, fact),
        f"{ARGS}.--rdzv_backend": ("etcd", fact),
        f"{ARGS}.--rdzv_endpoint": ("etcd:2379", fact),
        f"{ARGS}.--rdzv_conf": (ABSENT, fact),
        f"{POD}.spec.containers.pytorch.env.TRAINER_FIRST": (
            ABSENT,
            "ours: nobody hosts the meeting",
        ),
    }
    return [(path, *other.get(path, (value, fact))) for path, value, fact in rows(job)]


def on_the_largest(job: ClusterJob) -> list[Row]:
    """What differs on machines with 32 cards."""
    resources, fact = f"{POD}.spec.containers.pytorch.resources", "13.3 p5.48xlarge"
    other = {
        **{
            f"{resources}.{side}.vpc.amazonaws.com/efa": ("32", fact)
            for side in ("requests", "limits")
        },
        f"{POD}.spec.nodeSelector.node.kubernetes.io/instance-type": ("p5.48xlarge", fact),
        f"{POD}.spec.volumes.dshm.emptyDir.sizeLimit": (
            "1024Gi",
            "ours: half of the node's memory",
        ),
        f"{POD}.spec.containers.pytorch.env.OMP_NUM_THREADS": (
            "24",
            "ours: 192 cores for 8 processes",
        ),
    }
    pages: list[Row] = [
        (
            f"{resources}.{side}.hugepages-2Mi",
            ABSENT,
            "13.3 huge pages; ours: libfabric is told not to use them (FI_EFA_USE_HUGE_PAGE)",
        )
        for side in ("requests", "limits")
    ]
    return [*((path, *other.get(path, (value, fact))) for path, value, fact in rows(job)), *pages]
