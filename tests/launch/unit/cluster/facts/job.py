"""GPT-2 micro on GKE, as a plain Job; and the same with DeepSpeed's own launcher, which goes from
pod to pod over SSH."""

from __future__ import annotations

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.elasticjob import nccl_without_cards
from tests.launch.unit.cluster.facts.guides import ID
from tests.launch.unit.cluster.facts.shared_rows import (
    device,
    labels,
    meeting,
    pod,
    tolerated,
    values,
    who,
)
from tests.launch.unit.cluster.facts.table import ABSENT, Row

SPEC = "Job.spec"
POD = f"{SPEC}.template"
ARGS = f"{POD}.spec.containers.pytorch.args"


def rows(job: ClusterJob) -> list[Row]:
    return [*_either(job), *meeting(POD, "2", 8, f"{ID}-0.{ID}:29500", "6.4 counts")]


def over_ssh(job: ClusterJob) -> list[Row]:
    """With DeepSpeed's launcher: a hostfile, and keys that only this run's pods have."""
    keys = "6.4 SSH; ours: keys of this run alone, in a Secret that goes with it"
    container, spec = f"{POD}.spec.containers.pytorch", f"{POD}.spec"
    return [
        *_either(job),
        (f"{ARGS}.--over-ssh", "", "6.4 launcher"),
        (f"{ARGS}.--name", ID, "6.4 hostfile"),  # pods are NAME-0, NAME-1, ...
        (f"{ARGS}.--nodes", "2", "6.4 counts"),
        (f"{ARGS}.--slots", "8", "6.4 hostfile"),
        (f"{ARGS}.--port", "29500", "6.4 master port"),
        (f"{ARGS}.--keys", "/etc/playrunner-ssh", keys),
        (f"{container}.volumeMounts.keys.mountPath", "/etc/playrunner-ssh", keys),
        (f"{container}.volumeMounts.keys.readOnly", True, keys),
        (f"{spec}.volumes.keys.secret.secretName", f"{ID}-ssh", keys),
        (f"{spec}.volumes.keys.secret.defaultMode", 0o600, keys),
        (f"{spec}.securityContext.fsGroup", 1000, keys),
        (f"{spec}.securityContext.fsGroupChangePolicy", "OnRootMismatch", keys),
    ]


def _either(job: ClusterJob) -> list[Row]:
    spec = f"{POD}.spec"
    return [
        *who("Job", "batch/v1", "2 job", job),
        (
            f"{SPEC}.completionMode",
            "Indexed",
            "ours: pods of several nodes must know which one they are",
        ),
        *(
            (f"{SPEC}.podFailurePolicy.rules.0.{name}", value, "ours: no restart is left")
            for name, value in (
                ("action", "FailJob"),
                ("onExitCodes.containerName", "pytorch"),
                ("onExitCodes.operator", "In"),
                ("onExitCodes.values", [79]),
            )
        ),
        (f"{SPEC}.completions", 2, "6.4 counts"),
        (f"{SPEC}.parallelism", 2, "6.4 counts"),
        (f"{SPEC}.backoffLimit", 6, "ours: torchrun's own restarts, for each node"),
        *pod(POD, job, mount="/home", claim="pvc-tutorial"),
        (f"{spec}.restartPolicy", "Never", "2 job"),
        (f"{spec}.subdomain", ID, "ours: pods find each other through the headless Service"),
        (
            f"{spec}.volumes.dshm.emptyDir.sizeLimit",
            ABSENT,
            "3.3 shm",
        ),  # nodes that are to come have not said what they have
        *values(POD, "3.3 HOME; ours: paths are the run's own, whatever HOME is", HOME=ABSENT),
        *device(POD, nvidia_com__gpu="8"),
        *tolerated(POD, "nvidia.com/gpu", "2 taint"),
        (
            f"{spec}.tolerations.1.key",
            "nvidia.com/gpu",
            "2 taint; ours: the inventory says it of every pod",
        ),
        (
            f"{spec}.tolerations.1.operator",
            "Exists",
            "2 taint; ours: the inventory says it of every pod",
        ),
        (f"{spec}.nodeSelector.cloud.google.com/gke-nodepool", "pool-1", "2 selectors"),
        (
            f"{spec}.nodeSelector.node.kubernetes.io/instance-type",
            "a2-highgpu-8g",
            "2 selectors; ours: and the machine",
        ),
        *values(
            POD,
            "ours: the pod at which all meet knows itself",
            TRAINER_FIRST="JOB_COMPLETION_INDEX=0",
        ),
        *values(
            POD,
            "ours: of nodes that are still to come the cores are not known",
            OMP_NUM_THREADS="1",
        ),
        *nccl_without_cards(POD, "/home/runs/bert/output"),
        *_service(),
    ]


def _service() -> list[Row]:
    fact = "ours: the names by which pods meet, before they are ready"
    return [
        ("Service.apiVersion", "v1", fact),
        ("Service.kind", "Service", fact),
        ("Service.metadata.name", ID, fact),
        ("Service.metadata.namespace", "default", fact),
        *labels("Service.metadata.labels"),
        ("Service.spec.clusterIP", "None", fact),
        ("Service.spec.publishNotReadyAddresses", True, fact),
        ("Service.spec.selector.playrunner.io/training-id", ID, fact),
        ("Service.spec.ports.rendezvous.port", 29500, fact),
        ("Service.spec.ports.rendezvous.targetPort", 29500, fact),
        ("Service.spec.ports.rendezvous.protocol", "TCP", fact),
    ]
