"""node-contract: nodes that do not offer what their group promises are named and kept out, and let
in again when they do."""

from __future__ import annotations

import os
from typing import Any

import pytest

from playrunner.kube.nodes.contract import Group, group_of, groups_of, shortfalls
from playrunner.sandbox.kube.controllers.kubelet.volumes import host_folder
from tests.support.kube.addon_stage import AddonStage

KEY = "playrunner.io/contract"
WHOLE = {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}


def node(instance_type: str, labels: dict[str, str] | None = None, **offers: Any) -> dict[str, Any]:
    named = {"node.kubernetes.io/instance-type": instance_type, **(labels or {})}
    return {
        "metadata": {"name": "n", "labels": named},
        "status": {
            "allocatable": {name.replace("__", "/"): str(value) for name, value in offers.items()},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


@pytest.mark.parametrize(
    ("instance_type", "group", "offers"),
    [
        ("g4dn.xlarge", {}, {"nvidia.com/gpu": 1}),
        ("p4d.24xlarge", {"efa": True}, {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}),
        (
            "p5.48xlarge",
            {"efa": True},
            {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32, "hugepages-2Mi": 5120 << 20},
        ),
        ("p5.48xlarge", {}, {"nvidia.com/gpu": 8}),
        ("trn1.32xlarge", {"efa": True}, {"aws.amazon.com/neuron": 16, "vpc.amazonaws.com/efa": 8}),
        (
            "trn1n.32xlarge",
            {"efa": True},
            {"aws.amazon.com/neuron": 16, "vpc.amazonaws.com/efa": 16},
        ),
        (
            "trn1.32xlarge",
            {"efa": 2, "hugepages_mib": 64},
            {"aws.amazon.com/neuron": 16, "vpc.amazonaws.com/efa": 2, "hugepages-2Mi": 64 << 20},
        ),
        ("a2-highgpu-8g", {}, {"nvidia.com/gpu": 8}),
        ("m5.large", {}, {}),
        ("of-another-cloud", {"devices": {"nvidia.com/gpu": 2}}, {"nvidia.com/gpu": 2}),
    ],
)
def test_what_a_node_must_offer_follows_from_its_type_and_group(
    instance_type: str, group: dict[str, Any], offers: dict[str, int]
) -> None:
    (found, _) = groups_of([{"name": "g", "instance_types": [instance_type], **group}])
    assert found.offers(node(instance_type)) == offers


def test_a_node_belongs_to_the_group_of_its_cloud_or_of_its_labels() -> None:
    groups = groups_of([{"name": "gpu"}, {"name": "mine", "selector": {"pool": "a"}}])
    assert group_of(node("x", {"eks.amazonaws.com/nodegroup": "gpu"}), groups).name == "gpu"
    assert group_of(node("x", {"cloud.google.com/gke-nodepool": "gpu"}), groups).name == "gpu"
    assert group_of(node("x", {"pool": "a"}), groups).name == "mine"
    assert group_of(node("x", {"pool": "b"}), groups) == Group()


def test_everything_that_a_node_lacks_is_said_at_once() -> None:
    group = Group(efa=True, modules=("lustre",))
    lacking = shortfalls(
        node("p5.48xlarge", **{"nvidia.com__gpu": 7, "hugepages-2Mi": "1Gi"}), group, {}
    )
    assert lacking == [
        "offers 7 of 8 nvidia.com/gpu",
        "offers 0 of 32 vpc.amazonaws.com/efa",
        "offers 1024Mi of 5120Mi hugepages-2Mi",
        "has no kernel module lustre",
    ]
    assert shortfalls({**node("m5.large"), "status": {}}, Group(), {}) == [
        "has no condition Ready yet"
    ]
    whole = node(
        "p5.48xlarge",
        **{"nvidia.com__gpu": 8, "vpc.amazonaws.com__efa": 32, "hugepages-2Mi": "5Gi"},
    )
    assert shortfalls(whole, group, {"n": ["lustre"]}) == []


def taints(stage: AddonStage, name: str) -> dict[str, str]:
    found = stage.object("v1", "nodes", name).get("spec", {}).get("taints") or ()
    return {
        taint["key"]: taint.get("value", "")
        for taint in found
        if not taint["key"].startswith("node.kubernetes.io/")
    }


def contract(stage: AddonStage) -> dict[str, Any]:
    return {
        "node_contract_groups": [{"name": "gpu", "selector": {"own": stage.own}, "efa": True}],
        "node_contract_timeout": 1,
    }


def test_a_node_that_falls_short_is_named_kept_out_and_let_in_again(stage: AddonStage) -> None:
    whole, short = (
        stage.node("whole", "p4d.24xlarge", WHOLE),
        stage.node("short", "p4d.24xlarge", {**WHOLE, "nvidia.com/gpu": 7}),
    )
    stage.api.merge(
        f"/api/v1/nodes/{short}", {"spec": {"taints": [{"key": "other", "effect": "NoSchedule"}]}}
    )
    assert stage.create("node_contract", check=True, **contract(stage)).changed == [
        "node_contract : taint nodes that lack devices"
    ]
    assert taints(stage, short) == {"other": ""}, "looking touches nothing"

    made = stage.create("node_contract", **contract(stage))
    assert made.code == 0, made.messages
    assert made.values["node_contract : taint nodes that lack devices"]["warnings"] == [
        f"node {short} is kept out of launches: offers 7 of 8 nvidia.com/gpu"
    ]
    assert taints(stage, short) == {"other": "", KEY: stage.own} and taints(stage, whole) == {}
    assert (
        stage.object("v1", "nodes", short)["metadata"]["annotations"][KEY]
        == "offers 7 of 8 nvidia.com/gpu"
    )
    assert stage.create("node_contract", **contract(stage)).changed == []
    (row,) = stage.status("node_contract", **contract(stage)).data["things"]
    assert row["id"] == f"{short}: offers 7 of 8 nvidia.com/gpu" and row["state"] == "there"

    stage.offer(short, WHOLE)
    assert stage.create("node_contract", **contract(stage)).changed == [
        "node_contract : taint nodes that lack devices"
    ]
    assert taints(stage, short) == {"other": ""}


def test_delete_lifts_our_marks_and_no_others(stage: AddonStage) -> None:
    short = stage.node("short", "p4d.24xlarge", {})
    theirs = stage.node("theirs", "m5.large", {})
    stage.api.merge(
        f"/api/v1/nodes/{theirs}",
        {"spec": {"taints": [{"key": KEY, "value": "another", "effect": "NoSchedule"}]}},
    )
    assert stage.create("node_contract", **contract(stage)).code == 0
    assert taints(stage, short) == {KEY: stage.own}
    assert stage.delete("node_contract", **contract(stage)).code == 0
    assert taints(stage, short) == {} and taints(stage, theirs) == {KEY: "another"}


def test_a_node_whose_devices_are_on_their_way_is_waited_for(stage: AddonStage) -> None:
    late = stage.node("late", "p4d.24xlarge", {})
    stage.later(1.0, lambda: stage.offer(late, WHOLE))
    made = stage.create("node_contract", **{**contract(stage), "node_contract_timeout": 60})
    assert made.code == 0 and made.changed == [] and taints(stage, late) == {}, made.messages


def test_where_it_must_be_kept_the_step_fails_with_names(stage: AddonStage) -> None:
    short = stage.node("short", "p4d.24xlarge", {})
    made = stage.create("node_contract", **contract(stage), node_contract_strict=True)
    why = f"{short}: offers 0 of 8 nvidia.com/gpu; offers 0 of 4 vpc.amazonaws.com/efa"
    assert made.code == 2 and why in made.messages, made.messages
    assert taints(stage, short) == {KEY: stage.own}


def test_kernel_modules_are_looked_for_on_each_node(stage: AddonStage) -> None:
    has, lacks = stage.machine("has", "m5.large", {}), stage.machine("lacks", "m5.large", {})
    place = host_folder(stage.sandbox, has, f"/lib/modules/{os.uname().release}")
    (place / "modules.dep").write_text("extra/lustre.ko.xz: extra/obdclass.ko.xz\n")
    wanted = {
        "node_contract_groups": [{"selector": {"own": stage.own}, "modules": ["lustre"]}],
        "node_contract_timeout": 1,
    }
    made = stage.create("node_contract", **wanted)
    assert made.code == 0, made.messages
    assert made.values["node_contract : taint nodes that lack devices"]["kept_out"] == {
        lacks: "has no kernel module lustre"
    }
    assert taints(stage, has) == {} and taints(stage, lacks) == {KEY: stage.own}
    assert stage.create("node_contract", **wanted).changed == []
    assert stage.delete("node_contract", **wanted).code == 0
    assert stage.object("apps/v1", "daemonsets", "playrunner-node-probe", "kube-system") is None


def test_devices_that_come_with_their_plugin_keep_nobody_out(stage: AddonStage) -> None:
    node = stage.machine("gpu", "p4d.24xlarge", {"nvidia.com/gpu": 8})
    wanted = {
        "node_contract_groups": [{"selector": {"own": stage.own}}],
        "node_contract_timeout": 90,
    }
    made = stage.create("nvidia", "node_contract", **wanted)
    assert (
        made.code == 0
        and "kept_out" not in made.values["node_contract : taint nodes that lack devices"]
    ), made.messages
    assert taints(stage, node) == {}
    stage.delete("nvidia", **wanted)
    stage.awaited(lambda: stage.allocatable(node, "nvidia.com/gpu") == "0")
    assert stage.create("node_contract", **{**wanted, "node_contract_timeout": 1}).code == 0
    assert taints(stage, node) == {KEY: stage.own}
    again = stage.create("nvidia", "node_contract", **wanted)
    assert again.code == 0, again.messages
    stage.awaited(
        lambda: stage.create("node_contract", **wanted).code == 0 and taints(stage, node) == {}
    )
