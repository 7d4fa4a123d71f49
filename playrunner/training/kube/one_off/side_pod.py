"""A pod beside a run, with its claim mounted: for a shell, or for TensorBoard. It is deleted when
the command ends."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.kube.client.errors import KubeError
from playrunner.kube.objects.compare import CLUSTER
from playrunner.kube.watch import reasons
from playrunner.kube.watch.explain import PODS
from playrunner.kube.watch.watch import Collection, Objects, watch_until
from playrunner.training.kube.job_spec.security import (
    POD_SECURITY,
    RESTRICTED,
    container_security,
    home,
    pod_security,
)
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.session import ClusterSession, ClusterSettings

BESIDE = "playrunner.io/training-helper"  # the run it stands beside
START_SECONDS = 600.0  # its image may have to be pulled
LONGEST_SECONDS = 8 * 3600  # one that was left behind ends by itself
MOST_NAME = 40


@contextmanager
def helper(
    session: ClusterSession, run: ClusterRun, purpose: str, command: Sequence[str]
) -> Iterator[str]:
    """The pod's name once it runs; it is deleted afterwards, whichever way that comes."""
    body = helper_pod(run, purpose, command, str(session.scope.lookup("cluster_name")))
    if session.settings.security == RESTRICTED:
        body = restricted(body, session.settings)
    name = str(body["metadata"]["name"])
    before = signal.signal(signal.SIGTERM, _interrupt)
    _create(session, run.namespace, body)
    try:
        _await(session, run.namespace, name)
        yield name
    finally:
        signal.signal(signal.SIGTERM, before)
        session.kube.delete(PODS, run.namespace, name)


def helper_pod(
    run: ClusterRun, purpose: str, command: Sequence[str], cluster: str
) -> dict[str, Any]:
    claim, mount = str(run.summary.get("claim") or ""), str(run.summary.get("mount") or "/data")
    if not claim:
        raise BadInput(
            f"{run.name} has no claim (train_claim): its files are in its pods, at"
            f" {run.summary['output']}, and in the store of checkpoint.upload"
        )
    name = f"{run.name[:MOST_NAME].rstrip('-')}-{purpose}-{secrets.token_hex(3)}"
    labels = {"app.kubernetes.io/managed-by": "playrunner", BESIDE: run.name, CLUSTER: cluster}
    container = {
        "name": purpose,
        "image": run.summary["image"],
        "command": list(command),
        "volumeMounts": [{"name": "data", "mountPath": mount}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": run.namespace, "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LONGEST_SECONDS,
            "terminationGracePeriodSeconds": 2,
            "containers": [container],
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }


def restricted(body: dict[str, Any], settings: ClusterSettings) -> dict[str, Any]:
    """The pod as the restricted Pod Security Standard admits it."""
    environment = [{"name": name, "value": value} for name, value in home(settings).items()]
    containers = [
        {**each, "env": environment, "securityContext": container_security(settings)}
        for each in body["spec"]["containers"]
    ]
    spec = {**body["spec"], "securityContext": pod_security(settings), "containers": containers}
    return {**body, "spec": spec}


def _create(session: ClusterSession, namespace: str, body: dict[str, Any]) -> None:
    """Its namespace's standard is learned by its refusal: not all users may read namespaces, and
    clusters have defaults of their own."""
    try:
        session.kube.call("POST", PODS.path(namespace), body)
    except KubeError as error:
        if POD_SECURITY not in error.message or session.settings.security != "auto":
            raise
        settings = replace(session.settings, security=RESTRICTED)
        session.kube.call("POST", PODS.path(namespace), restricted(body, settings))


def _interrupt(*_: object) -> None:
    """To be ended is to leave: the pod must not stay behind."""
    raise KeyboardInterrupt


def _await(session: ClusterSession, namespace: str, name: str) -> None:
    collection = Collection(PODS, namespace, fields=f"metadata.name={name}")

    def judge(seen: dict[Collection, Objects]) -> str:
        for pod in seen[collection].values():
            phase = (pod.get("status") or {}).get("phase")
            if phase in ("Failed", "Succeeded"):
                raise StepFailed(
                    f"pod {namespace}/{name} ended at once: {'; '.join(reasons.pod(pod)) or phase}"
                )
            if phase == "Running":
                return ""
            return "; ".join(reasons.pod(pod)) or f"it is {phase or 'Pending'}"
        return "it is not there"

    missing = watch_until(session.kube, [collection], judge, START_SECONDS)
    if missing:
        raise StepFailed(
            f"pod {namespace}/{name} does not run after {START_SECONDS:g} s: {missing}"
        )
