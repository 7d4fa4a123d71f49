"""efa: the device plugin of EFA cards, and the race that its pods may lose on new nodes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, container_of, rendered

NAME = "aws-efa-k8s-device-plugin-daemonset"
HELD_UP = {
    "kind": "container",
    "match": f"kube-system/{NAME}-*",
    "reason": "CreateContainerConfigError",
}


def test_it_is_the_plugin_of_the_guides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    body: dict[str, Any] = yaml.safe_load(rendered("efa", ["eks-trainium"], versions="guide"))
    pods = body["spec"]["template"]["spec"]
    assert (body["metadata"]["name"], body["metadata"]["namespace"]) == (NAME, "kube-system")
    assert body["spec"]["selector"]["matchLabels"] == {"name": "aws-efa-k8s-device-plugin"}
    assert (
        container_of(body)["image"]
        == "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.3.3"
    )
    assert pods["hostNetwork"] is True and pods["serviceAccountName"] == "default"
    assert pods["priorityClassName"] == "system-node-critical"
    assert container_of(body)["securityContext"] == {
        "runAsNonRoot": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    terms = pods["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert [term["matchExpressions"][0]["key"] for term in terms] == [
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
    ]
    for term in terms:
        assert {
            "c5n.18xlarge",
            "p3dn.24xlarge",
            "p4d.24xlarge",
            "p5.48xlarge",
            "g5.48xlarge",
            "hpc6a.48xlarge",
            "trn1.32xlarge",
            "trn1n.32xlarge",
            "trn2.48xlarge",
        } <= set(term["matchExpressions"][0]["values"])
    tolerated = [(one["key"], one["operator"], one.get("effect")) for one in pods["tolerations"]]
    assert tolerated[:2] == [
        ("CriticalAddonsOnly", "Exists", None),
        ("aws.amazon.com/efa", "Exists", "NoSchedule"),
    ]


def test_its_image_comes_from_the_region_of_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    body = yaml.safe_load(rendered("efa", ["eks-cpu"]))
    assert container_of(body)["image"].startswith(
        "602401143452.dkr.ecr.us-east-1.amazonaws.com/eks/"
    )


def test_pods_that_cannot_be_configured_have_the_plugin_made_anew(stage: AddonStage) -> None:
    node = stage.machine("p4d", "p4d.24xlarge", {"vpc.amazonaws.com/efa": 4})
    stage.inject_fault(**HELD_UP, times=1)
    made = stage.create("efa", efa_timeout=90)
    assert made.code == 0, made.messages
    assert stage.injected_faults()[0]["struck"] == 1, "the race was lost once"
    stage.awaited(lambda: stage.allocatable(node, "vpc.amazonaws.com/efa") == "4")
    assert stage.create("efa").changed == []
    assert stage.delete("efa").code == 0
    assert stage.object("apps/v1", "daemonsets", NAME, "kube-system") is None


def test_a_race_that_is_always_lost_ends_with_its_cause(stage: AddonStage) -> None:
    stage.machine("p4d", "p4d.24xlarge", {"vpc.amazonaws.com/efa": 4})
    stage.inject_fault(**HELD_UP)
    lost = stage.create("efa", efa_timeout=5)
    assert lost.code == 2 and "CreateContainerConfigError" in lost.messages, lost.messages
    assert 1 <= stage.injected_faults()[0]["struck"] <= 4, "once, and three times anew at most"


@pytest.mark.parametrize("taint", ["nvidia.com/gpu", "aws.amazon.com/neuron"])
def test_nodes_that_are_tainted_by_their_devices_get_it_too(
    monkeypatch: pytest.MonkeyPatch, taint: str
) -> None:
    monkeypatch.chdir(ROOT)
    pods = yaml.safe_load(rendered("efa", ["eks-gpu"]))["spec"]["template"]["spec"]
    assert {"key": taint, "operator": "Exists", "effect": "NoSchedule"} in pods["tolerations"]


def test_it_sees_the_cards_where_it_looks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    body = yaml.safe_load(rendered("efa", ["eks-gpu"]))
    mounts = {one["mountPath"]: one["name"] for one in container_of(body)["volumeMounts"]}
    volumes = {one["name"]: one for one in body["spec"]["template"]["spec"]["volumes"]}
    assert volumes[mounts["/dev/infiniband"]]["hostPath"]["path"] == "/dev/infiniband"
