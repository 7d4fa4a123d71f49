"""The pod that trains: one for all launchers, which only differ in what stands around it."""

from __future__ import annotations

from typing import Any

from playrunner.training.kube.job_spec.command import CODE, FILES, literal, start_command
from playrunner.training.kube.job_spec.job import ClusterJob
from playrunner.training.kube.job_spec.names import ID, labels
from playrunner.training.kube.job_spec.security import container_security, home, pod_security
from trainer.node import starts

CONTAINER = "pytorch"  # the name that the training operator insists on
PORT_NAME = "pytorchjob-port"
# Ranks' lines are told from one another as over SSH, and torch's agents say who is who (LOGLEVEL):
# rank 0 is found by it.
_SPOKEN = {
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[${rank}] ",
    "LOGLEVEL": "INFO",
    "TRAINER_METRICS": "log",
    # Of a pod that goes alone the others hear by their own ranks only
    "TRAINER_SIGNAL_SECONDS": "5",
    # Only the ranks of the first rendezvous learn of the shared store; one that joins later would
    # wait for it until its timeout.
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}
_FIELDS = {"POD_NAME": "metadata.name", "POD_IP": "status.podIP", "NODE_NAME": "spec.nodeName"}


def pod_metadata(job: ClusterJob, more: dict[str, str] | None = None) -> dict[str, Any]:
    # A service mesh's proxy beside the trainer would never end, and the job with it.
    return {
        "labels": {**labels(job.name, job.run_id), **(more or {})},
        "annotations": {"sidecar.istio.io/inject": "false"},
    }


def pod_spec(
    job: ClusterJob, arguments: list[str], first: str, restart_policy: str, replica: int = 0
) -> dict[str, Any]:
    """`first`: how the pod at which all meet knows itself, as POD_NAME=run-master-0."""
    settings = job.settings
    spec: dict[str, Any] = {
        "restartPolicy": restart_policy,
        "terminationGracePeriodSeconds": job.grace_seconds,
        "containers": [_container(job, arguments, first, replica)],
        "volumes": _volumes(job),
        "tolerations": [
            *(
                {"key": key, "operator": "Exists", "effect": "NoSchedule"}
                for key in job.share.taints
            ),
            *settings.tolerations,
        ],
        "nodeSelector": _selector(job),
        "serviceAccountName": settings.service_account,
        "priorityClassName": settings.priority_class,
        "securityContext": pod_security(job.settings),
        "affinity": {**_one_per_node(job), **_elsewhere(job)},
    }
    return {name: value for name, value in spec.items() if value not in ("", [], {})}


def _container(job: ClusterJob, arguments: list[str], first: str, replica: int) -> dict[str, Any]:
    share = job.share
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": job.settings.image,
        "imagePullPolicy": job.settings.pull_policy,
        "command": start_command(job),
        "args": arguments,
        "env": _environment(job, first, replica),
        "ports": [{"name": PORT_NAME, "containerPort": job.settings.port, "protocol": "TCP"}],
        "resources": {
            "requests": {**dict(share.requests), **dict(share.resources)},
            "limits": {**dict(share.limits), **dict(share.resources)},
        },
        "securityContext": container_security(job.settings),
        "volumeMounts": [
            {"name": "dshm", "mountPath": "/dev/shm"},
            {"name": "files", "mountPath": FILES, "readOnly": True},
            *([{"name": "data", "mountPath": job.settings.mount}] if job.settings.claim else []),
        ],
    }
    if any(each.secret for each in job.environment):
        container["envFrom"] = [{"secretRef": {"name": job.run_id}}]
    if not container["securityContext"]:
        del container["securityContext"]
    container["resources"] = {kind: each for kind, each in container["resources"].items() if each}
    return container


def _environment(job: ClusterJob, first: str, replica: int) -> list[dict[str, Any]]:
    decided = {each.name: each.value for each in job.environment if not each.secret}
    own = {
        **_SPOKEN,
        "TRAINER_LAUNCH": job.run_id,
        **starts.setting(job.output, job.run_id, job.profile.launch, bool(job.elastic)),
        **home(job.settings),
        **_script(job),
        **decided,
        **_neuron(job, replica),
    }
    if job.settings.rendezvous == "c10d":
        own["TRAINER_FIRST"] = first
    if job.settings.code == "configmap":
        own["TRAINER_CODE"] = f"{FILES}/{CODE}"
    fields = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in _FIELDS.items()
    ]
    return [*fields, *({"name": name, "value": value} for name, value in sorted(own.items()))]


def _script(job: ClusterJob) -> dict[str, str]:
    """What a script of the user's own finds, as over SSH."""
    if not job.profile.script:
        return {}
    return {
        "RUN_DIR": job.output,
        "CHECKPOINT_DIR": f"{job.output}/checkpoints",
        "PYTHONUNBUFFERED": "1",
        "TRAINER_WORK": job.work,
        "TRAINER_SETUP": literal(job.profile.setup),
    }


def _neuron(job: ClusterJob, replica: int) -> dict[str, str]:
    """Compiled graphs are kept on the claim, each replica's for itself: two that write one cache
    spoil it."""
    if job.share.device != "neuron" and not any(
        each.name == "TRAINER_WITHIN" for each in job.environment
    ):
        return {}
    kept = f"{job.settings.cacheset}_{replica}"
    cache = f"--cache_dir={job.settings.root}/neuron_cache/{kept}"
    return {
        # The profile's precision decides (by autocast), not what the compiler casts by itself.
        "NEURON_CC_FLAGS": f"{cache} --auto-cast=none{_model_type(job)}",
        "TRANSFORMERS_CACHE": f"{job.settings.root}/transformers_cache/{kept}",
    }


def _model_type(job: ClusterJob) -> str:
    """The compiler then knows which parts it meets again and again."""
    return "" if job.profile.train.model.kind == "mlp" else " --model-type=transformer"


def _volumes(job: ClusterJob) -> list[dict[str, Any]]:
    # Loaders hand batches over through /dev/shm, and a container's own has 64 MB.
    shm: dict[str, Any] = {
        "medium": "Memory",
        **({"sizeLimit": f"{job.share.shm_gib}Gi"} if job.share.shm_gib else {}),
    }
    volumes: list[dict[str, Any]] = [
        {"name": "dshm", "emptyDir": shm},
        {"name": "files", "configMap": {"name": job.run_id}},
    ]
    if job.settings.claim:
        volumes.append({"name": "data", "persistentVolumeClaim": {"claimName": job.settings.claim}})
    return volumes


def _selector(job: ClusterJob) -> dict[str, str]:
    kind = (
        {"node.kubernetes.io/instance-type": job.share.instance_type}
        if job.share.instance_type
        else {}
    )
    return {**kind, **job.settings.node_selector}


def _one_per_node(job: ClusterJob) -> dict[str, Any]:
    """`--nodes 2` means two nodes: pods of one run do not share one."""
    term = {
        "labelSelector": {"matchLabels": {ID: job.run_id}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _elsewhere(job: ClusterJob) -> dict[str, Any]:
    """Away from nodes that were found bad: by the run's own choice, since others use them too."""
    fields = [
        {"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in job.avoid
    ]  # a field may be compared with one value only
    if not fields:
        return {}
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
