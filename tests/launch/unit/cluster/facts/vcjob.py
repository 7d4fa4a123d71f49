"""BERT-large on Trainium, as Volcano reads it: the job that TorchX makes."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.guides import ID, NAME
from tests.launch.unit.cluster.facts.shared_rows import device, meeting, pod, tolerated, values, who
from tests.launch.unit.cluster.facts.table import ABSENT, Row

SPEC = "Job.spec"
FIRST = f"{ID}-role1-0-0"  # job, task, index: the name that Volcano gives


def rows(job: ClusterJob, kind: str = "trn1.32xlarge", cards: str = "8") -> list[Row]:
    return [
        *who("Job", "batch.volcano.sh/v1alpha1", "6.3 kind", job),
        (f"{SPEC}.schedulerName", "volcano", "6.3 schedulerName"),
        (f"{SPEC}.queue", "test", "6.3 queue"),
        (f"{SPEC}.minAvailable", 2, "6.3 minAvailable"),  # all or none; said, not left to a webhook
        (f"{SPEC}.maxRetry", 3, "6.3 maxRetry"),
        (f"{SPEC}.plugins.svc", ["--publish-not-ready-addresses"], "6.3 plugins"),
        (f"{SPEC}.plugins.env", [], "6.3 plugins"),
        *(
            row
            for at in range(2)
            for row in _task(f"{SPEC}.tasks.role1-{at}", job, at, kind, cards)
        ),
    ]


def _task(path: str, job: ClusterJob, at: int, kind: str, cards: str) -> list[Row]:
    template = f"{path}.template"
    return [
        (f"{path}.replicas", 1, "6.3 tasks"),
        (f"{path}.maxRetry", 3, "6.3 tasks"),
        (f"{path}.policies.0.exitCode", 79, "ours: pods say so when no restart is left"),
        (f"{path}.policies.0.action", "TerminateJob", "ours: pods say so when no restart is left"),
        (f"{path}.policies.1.event", "PodEvicted", "6.3 policies"),
        (f"{path}.policies.1.action", "RestartJob", "6.3 policies"),
        (f"{path}.policies.2.event", "PodFailed", "6.3 policies"),
        (f"{path}.policies.2.action", "RestartJob", "6.3 policies"),
        *pod(template, job, claim="fsx-claim"),
        *_labels(f"{template}.metadata.labels", at),
        (
            f"{template}.spec.restartPolicy",
            "Never",
            "6.3 restartPolicy",
        ),  # the whole job is begun again instead
        (
            f"{template}.spec.volumes.dshm.emptyDir.sizeLimit",
            "256Gi",
            "ours: half of the node's memory",
        ),
        *meeting(template, "2", 32, f"{FIRST}.{ID}:29500", "6.3 command"),
        (
            f"{template}.spec.containers.pytorch.args.--role",
            ABSENT,
            "6.3 role; ours: lines have a prefix of their own",
        ),
        *device(template, "6.3 devices", aws_amazon_com__neuron="16", vpc_amazonaws_com__efa=cards),
        *tolerated(
            template,
            "aws.amazon.com/neuron",
            "ours: nodes with such devices may be kept for those who ask for them",
        ),
        (
            f"{template}.spec.nodeSelector.node.kubernetes.io/instance-type",
            kind,
            "6.3 nodeSelector",
        ),
        *_environment(template, at),
    ]


def _labels(path: str, at: int) -> list[Row]:
    return [
        (f"{path}.torchx.pytorch.org/app-name", NAME, "6.3 labels"),
        (f"{path}.torchx.pytorch.org/role-index", "0", "6.3 labels"),
        (f"{path}.torchx.pytorch.org/role-name", "role1", "6.3 labels"),
        (f"{path}.torchx.pytorch.org/replica-id", str(at), "6.3 labels"),
        (
            f"{path}.torchx.pytorch.org/version",
            ABSENT,
            "6.3 labels; ours: there is no TorchX here whose version it could be",
        ),
    ]


def _environment(path: str, at: int) -> list[Row]:
    found: list[Row] = []
    for name, value in {
        "CCOM_SOCKET_IFNAME": "eth0",
        "FI_PROVIDER": "efa",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "FI_EFA_FORK_SAFE": "1",
        "NEURON_RT_RESET_CORES": "1",
        "XLA_TRANSFER_SEED_ASYNC": "1",
        "NEURON_CC_FLAGS": (
            f"--cache_dir=/data/neuron_cache/bert-large_{at} --auto-cast=none"
            " --model-type=transformer"
        ),
        "TRANSFORMERS_CACHE": f"/data/transformers_cache/bert-large_{at}",
    }.items():
        found += values(path, f"6.3 env {name}", **{name: value})
    return [
        *found,
        *values(
            path,
            "6.3 env XLA_DOWNCAST_BF16; ours: without effect from torch-xla 2.8 on; autocast",
            XLA_DOWNCAST_BF16=ABSENT,
        ),
        *values(
            path,
            "6.3 rank 0's host; ours: all know the first pod by its name",
            TORCHX_RANK0_HOST=ABSENT,
        ),
        *values(
            path, "ours: the pod at which all meet knows itself", TRAINER_FIRST=f"POD_NAME={FIRST}"
        ),
        *values(path, "ours: 128 cores for 32 processes", OMP_NUM_THREADS="4"),
    ]


def with_everything_said(job: ClusterJob) -> list[Row]:
    """What differs with the runner's other options, and with a store as in the guide."""
    found = []
    for path, value, fact in rows(job):
        flag = path.rpartition(".args.")[2]
        if flag in ("--rdzv_backend", "--rdzv_endpoint"):
            value, fact = (
                {"--rdzv_backend": "etcd", "--rdzv_endpoint": "etcd-server:2379"}[flag],
                "6.3 command",
            )
        if flag == "--rdzv_conf" or path.endswith("env.TRAINER_FIRST"):
            value, fact = ABSENT, "ours: nobody hosts the meeting"
        if path.endswith("namespace"):
            value = "training"
        found.append((path, value, fact))
    for at in range(2):
        spec = f"{SPEC}.tasks.role1-{at}.template.spec"
        found += [
            (f"{spec}.serviceAccountName", "trainer", "6.3 service account"),
            (f"{spec}.priorityClassName", "high", "6.3 priority class"),
        ]
    return found
