"""nvidia: the device plugin of NVIDIA GPUs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, container_of, rendered

NAME = "nvidia-device-plugin-daemonset"


def plugin(**known: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(rendered("nvidia", ["eks-gpu"], **known))
    return found


def test_it_is_the_plugin_of_the_guides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    body = plugin(versions="guide")
    pods = body["spec"]["template"]["spec"]
    assert (body["kind"], body["metadata"]["name"], body["metadata"]["namespace"]) == (
        "DaemonSet",
        NAME,
        "kube-system",
    )
    assert body["spec"]["template"]["metadata"]["labels"] == {"name": "nvidia-device-plugin-ds"}
    assert container_of(body)["name"] == "nvidia-device-plugin-ctr"
    assert container_of(body)["image"] == "nvidia/k8s-device-plugin:1.0.0-beta4"
    assert container_of(plugin())["image"] == "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
    assert container_of(body)["env"] == [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}]
    assert container_of(body)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pods["priorityClassName"] == "system-node-critical"
    assert pods["volumes"][0]["hostPath"]["path"] == "/var/lib/kubelet/device-plugins"
    tolerated = [(one["key"], one["operator"], one.get("effect")) for one in pods["tolerations"]]
    assert tolerated[:2] == [
        ("CriticalAddonsOnly", "Exists", None),
        ("nvidia.com/gpu", "Exists", "NoSchedule"),
    ]


def test_gpus_come_with_it_and_go_with_it(stage: AddonStage) -> None:
    node = stage.machine(
        "gpu",
        "p4d.24xlarge",
        {"nvidia.com/gpu": 8},
        taints=[{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    )
    assert stage.allocatable(node, "nvidia.com/gpu") == "0"
    assert stage.create("nvidia", check=True).changed == ["nvidia : nvidia device plugin"]
    made = stage.create("nvidia")
    assert made.code == 0, made.messages
    stage.awaited(lambda: stage.allocatable(node, "nvidia.com/gpu") == "8")
    assert stage.create("nvidia").changed == []
    assert [row["state"] for row in stage.status("nvidia").data["things"]] == ["there"]
    assert stage.delete("nvidia").code == 0
    assert stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None
    stage.awaited(lambda: stage.allocatable(node, "nvidia.com/gpu") == "0")


def test_nodes_that_never_offer_their_gpus_fail_the_role_with_their_names(
    stage: AddonStage,
) -> None:
    node = stage.node("blind", "p4d.24xlarge", {"cpu": "4"})
    taint = {"key": "team", "value": "others", "effect": "NoSchedule"}  # no plugin runs there
    stage.api.merge(f"/api/v1/nodes/{node}", {"spec": {"taints": [taint]}})
    made = stage.create("nvidia", nvidia_offered_timeout=1, nvidia_timeout=20)
    told = f"no node offers nvidia.com/gpu: {node} offers 0 of 8"
    assert made.code == 2 and told in made.messages, made.messages
    stage.offer(node, {"cpu": "4", "nvidia.com/gpu": 7})
    fewer = stage.create("nvidia", nvidia_offered_timeout=1, nvidia_timeout=20)
    assert fewer.code == 0, fewer.messages
    (warning,) = fewer.values["nvidia : nvidia devices are offered"]["warnings"]
    assert warning.endswith(f"{node} offers 7 of 8")


def test_one_that_came_with_the_cluster_is_used_as_it_is(stage: AddonStage) -> None:
    theirs = plugin(nvidia_image="theirs/k8s-device-plugin:1")
    home = "/apis/apps/v1/namespaces/kube-system/daemonsets"
    made = stage.api.call("POST", home, theirs)
    assert made["kind"] == "DaemonSet", made
    try:
        assert stage.create("nvidia").code == 0
        refused = stage.create("nvidia", nvidia_use_existing=False)
        assert (
            refused.code == 2 and f"DaemonSet kube-system/{NAME} already exists" in refused.messages
        ), refused.messages
        assert stage.delete("nvidia").code == 0
        there = stage.object("apps/v1", "daemonsets", NAME, "kube-system")
        assert container_of(there)["image"] == "theirs/k8s-device-plugin:1"
        assert there["metadata"]["uid"] == made["metadata"]["uid"]
    finally:
        stage.api.call("DELETE", f"{home}/{NAME}")
        stage.awaited(lambda: stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None)


def test_where_others_bring_the_gpus_it_is_left_to_them(
    stage: AddonStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playrunner.kube.nodes.contract.FADING_SECONDS", 0.5)
    node = stage.node("theirs", "g4dn.xlarge", {"nvidia.com/gpu": 1})
    assert stage.create("nvidia", check=True).changed == []
    made = stage.create("nvidia")
    (warning,) = made.values["nvidia : nvidia device plugin"]["warnings"]
    assert (
        made.changed == []
        and warning == f"{node} offers nvidia.com/gpu already: nvidia is not installed"
    )
    assert stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None
    assert stage.create("nvidia", check=True, nvidia_use_existing=False).changed == [
        "nvidia : nvidia device plugin"
    ]


def test_a_field_that_somebody_else_took_is_reported_with_its_owner(stage: AddonStage) -> None:
    assert stage.create("nvidia").code == 0
    taken = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME},
        "spec": {"template": {"spec": {"priorityClassName": "system-cluster-critical"}}},
    }
    path = (
        f"/apis/apps/v1/namespaces/kube-system/daemonsets/{NAME}?fieldManager=somebody&force=true"
    )
    assert (
        stage.api.call("PATCH", path, taken, "application/apply-patch+yaml")["kind"] == "DaemonSet"
    )
    refused = stage.create("nvidia")
    assert (
        refused.code == 2
        and "somebody" in refused.messages
        and "priorityClassName" in refused.messages
    ), refused.messages
