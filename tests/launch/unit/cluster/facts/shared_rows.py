"""The rows that all launchers' tables share: who the job is, and the pod that trains."""

from __future__ import annotations

import json
from typing import Any

from playrunner.training.kube.job_spec.job import ClusterJob
from tests.launch.unit.cluster.facts.guides import ID, IMAGE, NAME
from tests.launch.unit.cluster.facts.table import Row

TOGETHER = "ours: how soon the others go on without a pod that is gone"
CONF = "join_timeout=900,last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3"


def who(kind: str, api_version: str, fact: str, job: ClusterJob) -> list[Row]:
    """The object itself."""
    return [
        (f"{kind}.apiVersion", api_version, fact),
        (f"{kind}.kind", kind, fact),
        (f"{kind}.metadata.name", ID, "6.2 stop the previous"),  # a name of its own for every run
        (f"{kind}.metadata.namespace", "default", "6.3 namespace"),
        (
            f"{kind}.metadata.annotations.playrunner.io/training-run",
            json.dumps(job.summary()),
            "ours: a run is known from any machine by what its job carries",
        ),
        *labels(f"{kind}.metadata.labels"),
    ]


def labels(path: str) -> list[Row]:
    return [
        (f"{path}.app.kubernetes.io/name", NAME, "6.3 labels"),
        (f"{path}.app.kubernetes.io/instance", ID, "6.3 labels"),
        (
            f"{path}.app.kubernetes.io/managed-by",
            "playrunner",
            "6.3 managed-by; ours: it is not TorchX that manages it",
        ),
        (f"{path}.playrunner.io/training", NAME, "ours: runs are found by their name"),
        (f"{path}.playrunner.io/training-id", ID, "ours: and by which life of it"),
    ]


def pod(path: str, job: ClusterJob, mount: str = "/data", claim: str = "") -> list[Row]:
    """What every pod has, whoever starts it; devices, environment and the meeting are the
    launchers' own rows."""
    container, spec = f"{path}.spec.containers.pytorch", f"{path}.spec"
    near = f"{spec}.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0"
    return [
        *labels(f"{path}.metadata.labels"),
        (f"{path}.metadata.annotations.sidecar.istio.io/inject", "false", "6.2 istio"),
        (
            f"{spec}.terminationGracePeriodSeconds",
            40,
            (
                "6.2 grace; ours: 25 s to save (checkpoint.grace_seconds) and 15 s beyond;"
                " after ten minutes a spot machine is long gone"
            ),
        ),
        (f"{container}.image", IMAGE, "6.2 container"),
        (
            f"{container}.imagePullPolicy",
            "IfNotPresent",
            (
                "6.2 pull; ours: tags are hashes of their content, and a pull at every"
                " restart costs minutes (train_pull_policy)"
            ),
        ),
        (
            f"{container}.command",
            ["python3", "-u", "/etc/playrunner/start.py"],
            "6.2 command; ours: unpacks the code, awaits the first pod, and becomes torchrun",
        ),
        (
            f"{container}.args.-m",
            f"trainer --profile /etc/playrunner/profile.yaml --output {mount}/runs/{NAME}/output",
            "6.2 command",
        ),
        (
            f"{container}.ports.pytorchjob-port.containerPort",
            29500,
            "6.2 port",
        ),  # rather than 23456, which nobody listens on
        (
            f"{container}.ports.pytorchjob-port.protocol",
            "TCP",
            "ours: old API servers cannot tell apart ports that leave it out",
        ),
        (f"{container}.volumeMounts.dshm.mountPath", "/dev/shm", "6.3 shm"),
        (f"{spec}.volumes.dshm.emptyDir.medium", "Memory", "6.3 shm"),
        (
            f"{container}.volumeMounts.files.mountPath",
            "/etc/playrunner",
            "ours: code and profile travel with the run",
        ),
        (
            f"{container}.volumeMounts.files.readOnly",
            True,
            "ours: code and profile travel with the run",
        ),
        (f"{spec}.volumes.files.configMap.name", ID, "ours: code and profile travel with the run"),
        (f"{container}.volumeMounts.data.mountPath", mount, "6.3 claim"),
        (
            f"{spec}.volumes.data.persistentVolumeClaim.claimName",
            claim or job.settings.claim,
            "6.3 claim",
        ),
        (
            f"{near}.labelSelector.matchLabels.playrunner.io/training-id",
            ID,
            "ours: --nodes 2 means two nodes",
        ),
        (f"{near}.topologyKey", "kubernetes.io/hostname", "ours: --nodes 2 means two nodes"),
        *_spoken(f"{container}.env", job),
        (
            f"{spec}.securityContext.seccompProfile.type",
            "RuntimeDefault",
            "ours: what the Pod Security Standards ask of every pod",
        ),
        (
            f"{container}.securityContext.allowPrivilegeEscalation",
            False,
            "ours: what the Pod Security Standards ask of every pod",
        ),
        *size(path, job),
    ]


def size(path: str, job: ClusterJob) -> list[Row]:
    """Cores and memory, as test_pod_size has them; those of the CPU guide have a fact."""
    fact = "6.3 no cores; ours: without memory a pod is the first that its node evicts"
    share = job.share
    return [
        (f"{path}.spec.containers.pytorch.resources.{side}.{name}", value, fact)
        for side, amounts in (("requests", share.requests), ("limits", share.limits))
        for name, value in amounts
        if (side, name, share.device) != ("requests", "cpu", "cpu")
    ]


def device(path: str, fact: str = "6.2 resources", **counts: str) -> list[Row]:
    """Resources that are asked for and limited to; named with _ for . and __ for /, as in
    `node`."""
    plain = {name.replace("__", "/").replace("_", "."): count for name, count in counts.items()}
    return [
        (f"{path}.spec.containers.pytorch.resources.{side}.{name}", count, fact)
        for name, count in plain.items()
        for side in ("requests", "limits")
    ]


def tolerated(path: str, key: str, fact: str) -> list[Row]:
    first = f"{path}.spec.tolerations.0"
    return [
        (f"{first}.key", key, fact),
        (f"{first}.operator", "Exists", fact),
        (f"{first}.effect", "NoSchedule", fact),
    ]


def meeting(
    path: str, nodes: str, processes: int, endpoint: str, fact: str, restarts: int = 3
) -> list[Row]:
    """How torchrun is told where the nodes meet and how many they are."""
    args = f"{path}.spec.containers.pytorch.args"
    return [
        (f"{args}.--nnodes", nodes, fact),
        (f"{args}.--nproc_per_node", str(processes), fact),
        (
            f"{args}.--rdzv_backend",
            "c10d",
            f"{fact}; ours: pods meet at the first of them, so there is no store to keep",
        ),
        (f"{args}.--rdzv_endpoint", endpoint, fact),
        (f"{args}.--rdzv_id", ID, "6.2 stop the previous"),
        *afterwards(path, restarts),
        (f"{args}.--rdzv_conf", CONF, TOGETHER),
    ]


def afterwards(path: str, restarts: int = 3) -> list[Row]:
    args = f"{path}.spec.containers.pytorch.args"
    return [
        (f"{args}.--max_restarts", str(restarts), "6.3 maxRetry"),
        (f"{args}.--tee", "3", "6.3 command"),
    ]


def values(path: str, fact: str, **variables: Any) -> list[Row]:
    """Variables of the container that one fact wants."""
    return [
        (f"{path}.spec.containers.pytorch.env.{name}", value, fact)
        for name, value in variables.items()
    ]


def _spoken(env: str, job: ClusterJob) -> list[Row]:
    rank0 = (
        "ours: rank 0 is found by what the agents say (INFO is enough; DEBUG is a line for every"
        " message)"
    )
    return [
        *(
            (f"{env}.{name}.valueFrom.fieldRef.fieldPath", field, "ours: a pod knows itself")
            for name, field in (
                ("POD_NAME", "metadata.name"),
                ("POD_IP", "status.podIP"),
                ("NODE_NAME", "spec.nodeName"),
            )
        ),
        (f"{env}.LOGLEVEL", "INFO", f"6.2 env LOGLEVEL; {rank0}"),
        (f"{env}.TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[${rank}] ", rank0),
        (f"{env}.TRAINER_LAUNCH", ID, "ours: a checkpoint names the launch that wrote it"),
        (f"{env}.TRAINER_METRICS", "log", "ours: metrics are read from the log"),
        (f"{env}.TRAINER_RESTARTS", _restarts(job), "ours: one count for all pods of a launch"),
        (
            f"{env}.TRAINER_SIGNAL_SECONDS",
            "5",
            "ours: of a pod that goes alone the others hear by their own ranks",
        ),
        (
            f"{env}.TRAINER_CODE",
            "/etc/playrunner/code.tar.gz",
            "ours: code and profile travel with the run",
        ),
        (
            f"{env}.TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
            "1",
            "ours: one who joins later would wait for a store it was not told of",
        ),
        (f"{env}.PYTHONUNBUFFERED", "1", "6.2 injected"),
        (f"{env}.PYTHONFAULTHANDLER", "1", "ours: a crash leaves its stack in the log"),
        (f"{env}.TOKENIZERS_PARALLELISM", "true", "ours: the trainer tokenises in threads"),
        (f"{env}.HF_HUB_DISABLE_PROGRESS_BARS", "1", "ours: a bar is thousands of lines of log"),
        (f"{env}.HF_HUB_DISABLE_TELEMETRY", "1", "ours: nodes often have no way out"),
        (
            f"{env}.RES_OPTIONS",
            "timeout:1 attempts:2",
            "ours: a name server that does not answer costs 5 s each time",
        ),
        (f"{env}.GLOO_SOCKET_IFNAME", "eth0", "6.2 env GLOO_SOCKET_IFNAME"),
        (f"{env}.TP_SOCKET_IFNAME", "eth0", "6.2 env TP_SOCKET_IFNAME"),
    ]


def _restarts(job: ClusterJob) -> str:
    return json.dumps(
        {
            "folder": f"{job.output}/restarts/{ID}",
            "output": job.output,
            "most": job.profile.launch.max_restarts,
            "per_hour": 6,
            "elastic": job.elastic is not None,
        }
    )
