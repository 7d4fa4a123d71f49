"""k8s.ready: what ready means for each kind, seen by watches; and why something does not come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.kube.module_stage import KubeStage

LABELS = {"app": "web"}


def deployment(name: str = "web", replicas: int = 2) -> dict[str, Any]:
    pod = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": pod},
    }


def pods(available: int) -> dict[str, int]:
    """A Deployment's status when so many of its two pods are there."""
    return {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": available,
        "availableReplicas": available,
    }


def ready(stage: KubeStage, **arguments: Any) -> dict[str, Any]:
    return {
        "name": "ready",
        "k8s.ready": {"namespace": stage.namespace, "timeout": 10, **arguments},
    }


def later(seconds: float, do: Callable[[], Any]) -> None:
    threading.Timer(seconds, do).start()


def apps(stage: KubeStage, plural: str = "deployments") -> str:
    return f"/apis/apps/v1/namespaces/{stage.namespace}/{plural}"


def test_a_deployment_is_waited_for_until_its_pods_are_available(stage: KubeStage) -> None:
    stage.api.call("POST", apps(stage), deployment())
    path = f"{apps(stage)}/web"
    later(0.5, lambda: stage.api.status(path, **pods(1)))
    later(1.0, lambda: stage.api.status(path, **pods(2)))
    run, asked = stage.counted([ready(stage, kind="Deployment", name="web")])
    assert run.code == 0 and run.statuses["ready"] == "ok", run.messages
    assert run.values["ready"]["names"] == ["web"]
    assert len([path for method, path in asked if path.endswith("/deployments")]) <= 2, (
        "it is told, it does not ask again"
    )


def test_one_that_does_not_come_is_explained_by_its_pods(stage: KubeStage) -> None:
    stage.api.call("POST", apps(stage), deployment())
    pod = {
        "metadata": {"name": "web-1", "labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": "web:1"}]},
    }
    stage.api.call("POST", f"/api/v1/namespaces/{stage.namespace}/pods", pod)
    stage.api.status(
        f"/api/v1/namespaces/{stage.namespace}/pods/web-1",
        phase="Pending",
        conditions=[
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
            }
        ],
    )
    run = stage.play([ready(stage, kind="Deployment", name="web", timeout=1)])
    assert run.code == 2, run.values
    assert (
        "not ready within 1 seconds" in run.messages
        and "Insufficient nvidia.com/gpu" in run.messages
    ), run.messages
    assert "kubectl describe nodes" in run.messages


def test_a_daemon_set_without_nodes_is_ready_once_it_was_looked_at(stage: KubeStage) -> None:
    one = deployment("agent")
    one["kind"] = "DaemonSet"
    del one["spec"]["replicas"]
    stage.api.call("POST", apps(stage, "daemonsets"), one)
    later(
        0.5,
        lambda: stage.api.status(
            f"{apps(stage, 'daemonsets')}/agent",
            observedGeneration=1,
            desiredNumberScheduled=0,
            currentNumberScheduled=0,
            numberMisscheduled=0,
            numberReady=0,
        ),
    )
    assert stage.play([ready(stage, kind="DaemonSet", name="agent")]).code == 0


def test_a_job_that_failed_is_not_waited_for(stage: KubeStage) -> None:
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "init"},
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "init:1"}],
                }
            }
        },
    }
    stage.api.call("POST", f"/apis/batch/v1/namespaces/{stage.namespace}/jobs", body)
    stage.api.status(
        f"/apis/batch/v1/namespaces/{stage.namespace}/jobs/init",
        startTime="2026-01-01T00:00:00Z",
        conditions=[
            {
                "type": kind,  # newer servers want the first before the second
                "status": "True",
                "reason": "BackoffLimitExceeded",
                "message": "Job has reached the limit",
            }
            for kind in ("FailureTarget", "Failed")
        ],
    )
    run = stage.play([ready(stage, kind="Job", name="init", timeout=60)])
    assert run.code == 2 and "Job has reached the limit" in run.messages, run.messages


def test_a_service_is_waited_for_until_pods_stand_behind_it(stage: KubeStage) -> None:
    def come() -> None:
        stage.api.call(
            "POST",
            f"/api/v1/namespaces/{stage.namespace}/endpoints",
            {
                "metadata": {"name": "svc"},
                "subsets": [{"addresses": [{"ip": "10.0.0.7"}], "ports": [{"port": 443}]}],
            },
        )

    later(0.5, come)
    run = stage.play([ready(stage, endpoints="svc")])
    assert run.code == 0 and run.values["ready"]["addresses"] == 1, run.messages
    missing = stage.play([ready(stage, endpoints="other", timeout=0.5)])
    assert missing.code == 2 and "has 0 of 1 pods behind it" in missing.messages


def test_nodes_are_counted_by_the_devices_they_offer(stage: KubeStage) -> None:
    for name, gpus in (("a", "8"), ("b", "0")):
        name = f"{stage.own}-{name}"
        stage.api.call(
            "POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"pool": stage.own}}}
        )
        stage.api.status(
            f"/api/v1/nodes/{name}",
            allocatable={"nvidia.com/gpu": gpus},
            conditions=[{"type": "Ready", "status": "True"}],
        )
    wanted = {"kind": "Node", "selector": {"pool": stage.own}, "devices": {"nvidia.com/gpu": 8}}
    run = stage.play([ready(stage, **wanted)])
    assert run.code == 0 and run.values["ready"]["names"] == [f"{stage.own}-a"], run.messages
    short = stage.play([ready(stage, **wanted, count=2, timeout=0.5)])
    assert (
        short.code == 2 and f"Node {stage.own}-b: offers 0 of 8 nvidia.com/gpu" in short.messages
    ), short.messages


def test_a_check_says_unknown_of_what_is_not_ready(stage: KubeStage) -> None:
    run = stage.play([ready(stage, kind="Deployment", name="web")], check=True)
    assert run.code == 0 and run.statuses["ready"] == "unknown", run.values


def test_a_set_is_waited_for_and_its_failure_explained(stage: KubeStage) -> None:
    step = {
        "name": "set",
        "k8s.manifest": {
            "name": "web",
            "namespace": stage.namespace,
            "record": stage.namespace,
            "definition": deployment(),
            "timeout": 20,
        },
    }
    path = f"{apps(stage)}/web"
    later(1.5, lambda: stage.api.status(path, **pods(2)))
    assert stage.play([step]).code == 0
    assert stage.play([step]).statuses["set"] == "ok"
    stage.api.status(path, readyReplicas=1, availableReplicas=1)
    step["k8s.manifest"]["timeout"] = 0.5  # type: ignore[index]
    late = stage.play([step])
    assert late.code == 2 and "1 of 2 pods are available" in late.messages, late.messages


@pytest.mark.parametrize(
    "arguments",
    [{}, {"kind": "Pod", "endpoints": "x"}, {"kind": "Pod", "name": "x", "selector": "a=b"}],
)
def test_what_to_wait_for_must_be_said_once(stage: KubeStage, arguments: dict[str, Any]) -> None:
    run = stage.play([ready(stage, **arguments)])
    assert run.code and "give" in run.messages


def test_a_claim_whose_volume_cannot_be_made_shows_the_driver_s_message(stage: KubeStage) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": f"{stage.own}-efs",
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }
    told = stage.api.call(
        "POST",
        f"/api/v1/namespaces/{stage.namespace}/events",
        {
            "metadata": {"name": "data.1"},
            "type": "Warning",
            "reason": "ProvisioningFailed",
            "count": 1,
            "message": "rpc error: code = Unauthenticated desc = Access Denied",
            "source": {"component": "efs.csi.aws.com"},
            "lastTimestamp": "2026-01-01T00:00:00Z",
            "involvedObject": {
                "kind": "PersistentVolumeClaim",
                "namespace": stage.namespace,
                "name": "data",
            },
        },
    )
    assert told["kind"] == "Event", told
    step = {
        "name": "set",
        "k8s.manifest": {
            "name": "claim",
            "namespace": stage.namespace,
            "record": stage.namespace,
            "definition": claim,
            "timeout": 1,
        },
    }
    late = stage.play([step])
    assert (
        late.code == 2
        and "its volume cannot be made" in late.messages
        and "Access Denied" in late.messages
    ), late.messages
    waits = {
        "metadata": {"name": f"{stage.own}-efs"},
        "provisioner": "x",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    stage.api.call("POST", "/apis/storage.k8s.io/v1/storageclasses", waits)
    assert stage.play([step]).code == 0, (
        "a claim that waits for its first pod is as ready as it can be"
    )
