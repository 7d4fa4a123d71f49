"""neuron: the device plugin of Inferentia and Trainium, and what it may do."""

from __future__ import annotations

import pytest
import yaml

from tests.support.kube.addon_stage import AddonStage
from tests.support.kube.rendering import ROOT, container_of, rendered

NAME = "neuron-device-plugin-daemonset"


def test_it_is_the_plugin_of_the_guides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    bodies = list(yaml.safe_load_all(rendered("neuron", ["eks-trainium"])))
    account, role, binding, body = bodies
    assert [one["kind"] for one in bodies] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "DaemonSet",
    ]
    assert {one["metadata"]["name"] for one in (account, role, binding)} == {"neuron-device-plugin"}
    rules = {rule["resources"][0]: set(rule["verbs"]) for rule in role["rules"]}
    assert rules == {
        "nodes": {"get", "list", "watch"},
        "events": {"create", "patch"},
        "nodes/status": {"patch", "update"},
        "pods": {"update", "patch", "get", "list", "watch"},
    }
    pods = body["spec"]["template"]["spec"]
    assert (body["metadata"]["name"], body["metadata"]["namespace"]) == (NAME, "kube-system")
    assert body["spec"]["selector"]["matchLabels"] == {"name": "neuron-device-plugin-ds"}
    assert (
        pods["serviceAccountName"] == "neuron-device-plugin"
        and pods["priorityClassName"] == "system-node-critical"
    )
    assert container_of(body)["image"] == "public.ecr.aws/neuron/neuron-device-plugin:2.29.16.0"
    assert {one["name"] for one in container_of(body)["env"]} == {"KUBECONFIG", "NODE_NAME"}
    assert container_of(body)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {volume["hostPath"]["path"] for volume in pods["volumes"]} == {
        "/var/lib/kubelet/device-plugins",
        "/run",
    }
    (term,) = pods["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    (types,) = term["matchExpressions"]
    assert types["key"] == "node.kubernetes.io/instance-type"
    assert {
        "trn1.2xlarge",
        "trn1.32xlarge",
        "trn1n.32xlarge",
        "trn2.48xlarge",
        "inf2.48xlarge",
    } <= set(types["values"])
    tolerated = [(one["key"], one["operator"], one.get("effect")) for one in pods["tolerations"]]
    assert tolerated[:2] == [
        ("CriticalAddonsOnly", "Exists", None),
        ("aws.amazon.com/neuron", "Exists", "NoSchedule"),
    ]


def test_neuron_devices_come_with_it_and_go_with_it(stage: AddonStage) -> None:
    node = stage.machine("trn", "trn1.32xlarge", {"aws.amazon.com/neuron": 16})
    made = stage.create("neuron")
    assert made.code == 0 and made.changed == [
        "neuron : neuron permissions",
        "neuron : neuron device plugin",
    ], made.messages
    stage.awaited(lambda: stage.allocatable(node, "aws.amazon.com/neuron") == "16")
    on = {
        pod["spec"]["nodeName"]
        for pod in stage.objects("v1", "pods", "name=neuron-device-plugin-ds", "kube-system")
    }
    assert on == {node}, "other nodes have nothing for it to find"
    assert stage.create("neuron").changed == []
    gone = stage.delete("neuron")
    assert gone.code == 0 and gone.data["failed"] == {}
    assert stage.object("v1", "serviceaccounts", "neuron-device-plugin", "kube-system") is None
    for plural in ("clusterroles", "clusterrolebindings"):
        assert stage.object("rbac.authorization.k8s.io/v1", plural, "neuron-device-plugin") is None


def test_on_no_node_at_all_it_is_ready(stage: AddonStage) -> None:
    made = stage.create("neuron")
    assert made.code == 0, made.messages
    assert (
        stage.object("apps/v1", "daemonsets", NAME, "kube-system")["status"][
            "desiredNumberScheduled"
        ]
        == 0
    )
