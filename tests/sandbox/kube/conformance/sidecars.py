"""Sidecars: init containers that go on beside the others."""

from __future__ import annotations

from typing import Any

from tests.sandbox.kube.conformance import ApiStage, behaviour, deployment, pod, refused
from tests.support.kube.client import Answer

SIDECARS = 29  # the minor version since which servers have them by default
PROBE = {"httpGet": {"port": 8080}}


def _made(stage: ApiStage, **container: Any) -> Answer:
    first = {"name": "first", "image": "nginx:1.25", **container}
    return stage.api.call("POST", stage.core("pods"), pod(initContainers=[first]))


@behaviour("an init container that always restarts is a sidecar, with probes", since=SIDECARS)
def _(stage: ApiStage) -> None:
    answer = _made(stage, restartPolicy="Always", startupProbe=PROBE, readinessProbe=PROBE)
    assert answer.code == 201, answer.message
    (sidecar,) = answer.value["spec"]["initContainers"]
    assert sidecar["restartPolicy"] == "Always" and sidecar["startupProbe"]["periodSeconds"] == 10


@behaviour("an init container that ends has no probes and no hooks", since=SIDECARS)
def _(stage: ApiStage) -> None:
    why = "may not be set for init containers without restartPolicy=Always"
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        path = f"spec.initContainers[0].{field}: Forbidden: {why}"
        refused(_made(stage, **{field: PROBE}), 422, "Invalid", path)
    hook = {"preStop": {"exec": {"command": ["true"]}}}
    refused(_made(stage, lifecycle=hook), 422, "Invalid", f"[0].lifecycle: Forbidden: {why}")


@behaviour("a sidecar counts for a pod's quality of service", since=SIDECARS)
def _(stage: ApiStage) -> None:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}
    answer = _made(stage, restartPolicy="Always", resources=limits)
    assert answer.value["status"]["qosClass"] == "Burstable"


@behaviour(
    "a container restarts as its pod does; only a sidecar says otherwise", since=SIDECARS, until=33
)
def _(stage: ApiStage) -> None:
    answer = _made(stage, restartPolicy="Never")
    refused(
        answer,
        422,
        "Invalid",
        'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values:'
        ' "Always"',
    )
    body = deployment()
    body["spec"]["template"]["spec"]["containers"][0]["restartPolicy"] = "Always"
    answer = stage.api.call("POST", stage.apps("deployments"), body)
    why = "may not be set for non-init containers"
    refused(answer, 422, "Invalid", f"spec.containers[0].restartPolicy: Forbidden: {why}")
