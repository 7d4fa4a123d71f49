"""GPT-2 elastic, as TorchElastic's controller reads it."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.guides import ID
from tests.launch.unit.cluster.facts.shared_rows import (
    CONF,
    TOGETHER,
    afterwards,
    device,
    pod,
    tolerated,
    values,
    who,
)
from tests.launch.unit.cluster.facts.table import ABSENT, Row

SPEC = "ElasticJob.spec"
WORKER = f"{SPEC}.replicaSpecs.Worker"
POD = f"{WORKER}.template"
ARGS = f"{POD}.spec.containers.pytorch.args"


def rows(job: ClusterJob) -> list[Row]:
    return [
        *who("ElasticJob", "elastic.pytorch.org/v1alpha1", "6.1 kind", job),
        (
            f"{SPEC}.rdzvEndpoint",
            f"{ID}-worker-0:29500",
            "6.1 rdzvEndpoint; ours: pods meet at the first of them by default",
        ),
        (f"{SPEC}.minReplicas", 1, "6.1 replicas"),
        (f"{SPEC}.maxReplicas", 8, "6.1 replicas"),
        (f"{WORKER}.replicas", 8, "7.1 replicas"),
        (
            f"{SPEC}.cleanPodPolicy",
            "None",
            "6.1 cleanPodPolicy",
        ),  # where the controller reads it, not under RunPolicy
        (f"{SPEC}.RunPolicy", ABSENT, "6.1 run policy is inlined"),
        (
            f"{SPEC}.backoffLimit",
            24,
            "6.1 run policy is inlined",
        ),  # torchrun's own 3 restarts, for each of 8 nodes
        (
            f"{SPEC}.ttlSecondsAfterFinished",
            ABSENT,
            "6.1 other ends; ours: train.stop keeps the record first, then deletes",
        ),
        (
            f"{SPEC}.activeDeadlineSeconds",
            ABSENT,
            "6.1 other ends; ours: a run is over when its steps are",
        ),
        (
            f"{SPEC}.schedulingPolicy",
            ABSENT,
            "6.1 other ends; ours: it begins with as many as there are; vcjob is for gangs",
        ),
        (
            f"{WORKER}.restartPolicy",
            "OnFailure",
            (
                "6.1 restartPolicy; ours: with ExitCode a trainer that ends with 1 ends the"
                " job, and a lost neighbour makes it end so"
            ),
        ),
        (f"{POD}.spec.restartPolicy", "OnFailure", "6.1 restartPolicy; ours: as the job's own"),
        *pod(POD, job, claim="efs-claim"),
        (
            f"{POD}.spec.volumes.dshm.emptyDir.sizeLimit",
            "7Gi",
            "6.1 shm; ours: half of the node's memory, for loaders",
        ),
        # The controller puts --rdzv_backend=etcd, --rdzv_endpoint, --rdzv_id and --nnodes before
        # these; the later of two counts.
        (f"{ARGS}.--nproc_per_node", "1", "6.1 arguments"),
        (
            f"{ARGS}.--rdzv_backend",
            "c10d",
            "6.1 arguments; ours: overrules the etcd that the controller asks for",
        ),
        *(
            (f"{ARGS}.{flag}", ABSENT, "6.1 arguments")
            for flag in ("--nnodes", "--rdzv_id", "--rdzv_endpoint")
        ),
        (f"{ARGS}.--rdzv_conf", CONF, TOGETHER),
        *afterwards(POD),
        *device(POD, nvidia_com__gpu="1"),
        *tolerated(POD, "nvidia.com/gpu", "2 taint"),
        (
            f"{POD}.spec.nodeSelector.node.kubernetes.io/instance-type",
            "g4dn.xlarge",
            "6.2 nodeSelector",
        ),
        *values(
            POD,
            "ours: the pod at which all meet knows itself",
            TRAINER_FIRST=f"POD_NAME={ID}-worker-0",
        ),
        *values(POD, "ours: 4 cores for one process", OMP_NUM_THREADS="4"),
        *nccl_without_cards(POD),
    ]


def with_etcd(job: ClusterJob) -> list[Row]:
    """What differs when a store is asked for, as in the guide."""
    other = {
        f"{SPEC}.rdzvEndpoint": ("etcd-service:2379", "6.1 rdzvEndpoint"),
        f"{ARGS}.--rdzv_backend": (ABSENT, "6.1 arguments"),
        f"{ARGS}.--rdzv_conf": (ABSENT, "6.1 arguments"),
        f"{POD}.spec.containers.pytorch.env.TRAINER_FIRST": (
            ABSENT,
            "ours: nobody hosts the meeting",
        ),
    }
    return [(path, *other.get(path, (value, fact))) for path, value, fact in rows(job)]


def nccl_without_cards(path: str, output: str = "/data/runs/bert/output") -> list[Row]:
    return [
        *nccl(path, output),
        *values(
            path,
            "6.2 env NCCL_DEBUG; ours: without EFA there is no provider to name, and errors explain"
            " themselves at WARN",
            NCCL_DEBUG="WARN",
        ),
    ]


def nccl(path: str, output: str) -> list[Row]:
    """What every job on GPUs gets of the guide that says most about it."""
    found: list[Row] = []
    for name in (
        "TORCH_NCCL_ENABLE_MONITORING",
        "TORCH_NCCL_DUMP_ON_TIMEOUT",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    ):
        found += values(path, f"6.2 env {name}", **{name: "1"})
    return [
        *found,
        *values(
            path,
            "6.2 env TORCH_NCCL_TRACE_BUFFER_SIZE; ours: torch's name for it now",
            TORCH_FR_BUFFER_SIZE="20000",
        ),
        *values(
            path,
            "6.2 env TORCH_NCCL_TRACE_BUFFER_SIZE; ours: two names would quarrel",
            TORCH_NCCL_TRACE_BUFFER_SIZE=ABSENT,
        ),
        *values(
            path,
            "6.2 env TORCH_NCCL_DEBUG_INFO_TEMP_FILE; ours: on the claim, where it outlives"
            " the pod",
            TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{output}/nccl_trace_rank_",
        ),
        *values(
            path,
            "6.2 env NCCL_SOCKET_IFNAME; ours: the same as gloo, by its exact name",
            NCCL_SOCKET_IFNAME="=eth0",
        ),
        *values(
            path,
            "6.2 env TORCH_DISTRIBUTED_DEBUG; ours: DETAIL checks every collective with"
            " another one",
            TORCH_DISTRIBUTED_DEBUG=ABSENT,
        ),
        *values(
            path,
            "6.2 env NCCL_SOCKET_TIMEOUT_MS; ours: NCCL documents no such variable",
            NCCL_SOCKET_TIMEOUT_MS=ABSENT,
        ),
        *values(
            path,
            "6.2 env TORCH_DIST_INIT_BARRIER; ours: torchrun's agents meet before any process group"
            " is made",
            TORCH_DIST_INIT_BARRIER=ABSENT,
        ),
    ]
