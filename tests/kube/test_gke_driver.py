"""gke-driver: what makes GPUs of Google's nodes usable."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, rendered

NAME = "nvidia-driver-installer"


def test_it_is_upstreams_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    body: dict[str, Any] = yaml.safe_load(rendered("gke_driver", ["gke"]))
    pods = body["spec"]["template"]["spec"]
    assert (body["kind"], body["metadata"]["name"], body["metadata"]["namespace"]) == (
        "DaemonSet",
        NAME,
        "kube-system",
    )
    assert body["spec"]["selector"]["matchLabels"] == {"k8s-app": NAME}
    assert pods["hostNetwork"] is pods["hostPID"] is True and pods["tolerations"] == [
        {"operator": "Exists"}
    ]
    first, second = pods["initContainers"]
    assert (first["image"], first["imagePullPolicy"]) == ("cos-nvidia-installer:fixed", "Never")
    assert {"name": "NVIDIA_INSTALL_DIR_HOST", "value": "/home/kubernetes/bin/nvidia"} in first[
        "env"
    ]
    assert "nvidia-partition-gpu" in second["image"]
    assert first["securityContext"]["privileged"] is second["securityContext"]["privileged"] is True
    # What upstream's manifest has; an image that is pulled to do nothing is pinned by its digest.
    assert "/pause:3.8@sha256:" in pods["containers"][0]["image"]
    (term,) = pods["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [
        {"key": "cloud.google.com/gke-accelerator", "operator": "Exists"},
        {"key": "cloud.google.com/gke-gpu-driver-version", "operator": "DoesNotExist"},
        {
            "key": "cloud.google.com/gke-confidential-nodes-instance-type",
            "operator": "DoesNotExist",
        },
    ]


def test_with_a_pool_at_size_0_it_is_ready(stage: AddonStage) -> None:
    made = stage.create("gke_driver", gke_driver_timeout=60)
    assert made.code == 0, made.messages
    assert (
        stage.object("apps/v1", "daemonsets", NAME, "kube-system")["status"][
            "desiredNumberScheduled"
        ]
        == 0
    )
    assert stage.create("gke_driver").changed == []


def test_it_runs_on_gpu_nodes_that_have_no_driver_of_their_own(stage: AddonStage) -> None:
    labels = {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}
    bare = stage.machine("a100", "a2-highgpu-8g", {"nvidia.com/gpu": 8}, labels)
    own_driver = {**labels, "cloud.google.com/gke-gpu-driver-version": "default"}
    stage.machine("done", "a2-highgpu-8g", {"nvidia.com/gpu": 8}, own_driver)
    made = stage.create("gke_driver", gke_driver_timeout=60)
    assert made.code == 0, made.messages
    on = {
        pod["spec"]["nodeName"]
        for pod in stage.objects("v1", "pods", f"k8s-app={NAME}", "kube-system")
    }
    assert on == {bare}
    assert stage.delete("gke_driver").code == 0
    assert stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None
