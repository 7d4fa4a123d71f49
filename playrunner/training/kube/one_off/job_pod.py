"""The pod of a one-off job: its own command, the trainer's code, and the claim, whose folders are
opened for the images' user first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from playrunner.frozen import frozen
from playrunner.kube.client.client import Kube
from playrunner.kube.client.errors import KubeError
from playrunner.kube.watch.explain import PODS
from playrunner.training.kube.job_spec.command import CODE, FILES, START
from playrunner.training.kube.job_spec.pod import CONTAINER
from playrunner.training.kube.job_spec.security import (
    POD_SECURITY,
    RESTRICTED,
    container_security,
    home,
    pod_security,
)
from playrunner.training.kube.session import ClusterSettings

_NOTES = "/playrunner-notes"
OPENED = f"{_NOTES}/opened"  # which folders of the claim were changed


@frozen
class OneOffJob:
    id: str  # the same for the same work, so that it is found again
    title: str
    words: tuple[str, ...]  # what Python is to run
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)  # variables too, of a Secret
    service_account: str = ""
    role_arn: str = ""  # which the service account is to have
    # Folders of the claim that are made writable for the images' user first
    opened: tuple[str, ...] = ()


def job_pod(job: OneOffJob, kube: Kube, settings: ClusterSettings) -> dict[str, Any]:
    if settings.security == "auto" and _restricts(job, kube, settings):
        settings = replace(settings, security=RESTRICTED)
    return _pod(job, settings)


def _restricts(job: OneOffJob, kube: Kube, settings: ClusterSettings) -> bool:
    """Whether the namespace refuses other pods than restricted ones, by a dry run: not all users
    may read namespaces, and clusters have defaults of their own."""
    metadata = {"name": f"{job.id}-trial", "namespace": settings.namespace}
    spec = _pod(replace(job, service_account=""), settings)  # the account may come with the job
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    try:
        kube.apply(PODS, pod, force=True, dry=True)
    except KubeError as error:
        return POD_SECURITY in error.message
    return False


def _pod(job: OneOffJob, settings: ClusterSettings) -> dict[str, Any]:
    environment = {
        **job.environment,
        **home(settings),
        **({"TRAINER_CODE": f"{FILES}/{CODE}"} if settings.code == "configmap" else {}),
    }
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "command": [settings.python, "-u", f"{FILES}/{START}"],
        "args": ["--alone", *job.words],
        "env": [{"name": name, "value": value} for name, value in sorted(environment.items())],
        "volumeMounts": [
            {"name": "files", "mountPath": FILES, "readOnly": True},
            *([{"name": "data", "mountPath": settings.mount}] if settings.claim else []),
        ],
    }
    if job.secrets:
        container["envFrom"] = [{"secretRef": {"name": job.id}}]
    restricted = settings.security == RESTRICTED
    if restricted:
        container["securityContext"] = container_security(settings)
    # Root is not admitted there; the claim's fsGroup or its administrator opens it.
    openers = [_opener(job, settings, container)] if job.opened and not restricted else []
    if openers:
        container["volumeMounts"] += [{"name": "notes", "mountPath": _NOTES}]
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "securityContext": pod_security(settings) if restricted else {},
        "initContainers": openers,
        "containers": [container],
        "serviceAccountName": job.service_account or settings.service_account,
        "nodeSelector": settings.job_node_selector,
        # It needs no device, so it may stand on any node that has one.
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [
            {"name": "files", "configMap": {"name": job.id}},
            *(
                [{"name": "data", "persistentVolumeClaim": {"claimName": settings.claim}}]
                if settings.claim
                else []
            ),
            *([{"name": "notes", "emptyDir": {}}] if openers else []),
        ],
    }
    return {name: value for name, value in spec.items() if value not in ("", {}, [])}


def _opener(job: OneOffJob, settings: ClusterSettings, beside: dict[str, Any]) -> dict[str, Any]:
    """As root, since what belongs to root is to be given away; with no other right than that."""
    words = ["-m", "trainer.staging.open_folders", "--user", str(settings.user), "--note", OPENED]
    return {
        **beside,
        "name": "open-folders",
        "args": ["--alone", *words, *job.opened],
        "volumeMounts": [*beside["volumeMounts"], {"name": "notes", "mountPath": _NOTES}],
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "runAsNonRoot": False,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER"]},
        },
    }
