"""k8s.node: labels, taints, cordon and drain."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.nodes.drain import moves
from tests.modules.k8s.test_ready import later
from tests.support.kube.module_stage import KubeStage


@pytest.fixture
def node(stage: KubeStage) -> str:
    name = f"{stage.own}-n"
    body = {
        "metadata": {"name": name, "labels": {"kept": "yes"}},
        "spec": {"taints": [{"key": "other", "effect": "NoExecute"}]},
    }
    made = stage.api.call("POST", "/api/v1/nodes", body)
    assert made["kind"] == "Node", made
    return name


def pod(stage: KubeStage, node: str, name: str, **more: Any) -> None:
    meta = {"name": name, "labels": {"app": "web"}, **more}
    made = stage.api.call(
        "POST",
        f"/api/v1/namespaces/{stage.namespace}/pods",
        {
            "metadata": meta,
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "web:1"}],
            },
        },
    )
    assert made["kind"] == "Pod", made
    stage.api.status(
        f"/api/v1/namespaces/{stage.namespace}/pods/{name}",
        phase="Running",
        conditions=[{"type": "Ready", "status": "True"}],
    )


def owned(stage: KubeStage) -> list[dict[str, Any]]:
    """By something that is really there, and takes no care of its pods."""
    made = stage.api.call(
        "POST", f"/api/v1/namespaces/{stage.namespace}/configmaps", {"metadata": {"name": "owner"}}
    )
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
    ]


def step(node: str, **arguments: Any) -> dict[str, Any]:
    return {"name": "node", "k8s.node": {"name": node, "timeout": 10, **arguments}}


def test_what_is_named_is_set_and_all_else_stays(stage: KubeStage, node: str) -> None:
    steps = [
        step(
            node,
            labels={"pool": "gpu", "gone": None},
            taints=["dedicated=gpu:NoSchedule"],
            cordon=True,
        )
    ]
    assert stage.play(steps, check=True).statuses["node"] == "changed"
    assert stage.play(steps).statuses["node"] == "changed"
    found = stage.api.get(f"/api/v1/nodes/{node}")
    assert (
        found["metadata"]["labels"]["pool"] == "gpu"
        and found["metadata"]["labels"]["kept"] == "yes"
    )
    assert {(taint["key"], taint["effect"]) for taint in found["spec"]["taints"]} >= {
        ("other", "NoExecute"),
        ("dedicated", "NoSchedule"),
    }
    assert found["spec"]["unschedulable"] is True
    assert stage.play(steps).statuses["node"] == "ok"
    back = [step(node, labels={"pool": None}, untaint=["dedicated"], cordon=False)]
    assert stage.play(back).statuses["node"] == "changed"
    found = stage.api.get(f"/api/v1/nodes/{node}")
    assert "pool" not in found["metadata"]["labels"] and not found["spec"].get("unschedulable")
    assert "dedicated" not in {taint["key"] for taint in found["spec"]["taints"]}
    assert stage.play(back).statuses["node"] == "ok"


def test_draining_moves_what_can_be_moved_and_leaves_what_belongs_to_the_node(
    stage: KubeStage, node: str
) -> None:
    pod(stage, node, "web", ownerReferences=owned(stage))
    pod(stage, node, "agent", annotations={"kubernetes.io/config.mirror": "x"})
    run = stage.play([step(node, drain=True)])
    assert run.code == 0 and run.statuses["node"] == "changed", run.messages
    left = [
        one["metadata"]["name"]
        for one in stage.api.get(f"/api/v1/namespaces/{stage.namespace}/pods")["items"]
    ]
    assert (
        left == ["agent"]
        and stage.api.get(f"/api/v1/nodes/{node}")["spec"]["unschedulable"] is True
    )
    assert stage.play([step(node, drain=True)]).statuses["node"] == "ok"


def test_pods_of_daemon_sets_and_pods_that_are_done_stay() -> None:
    daemon = {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}}
    assert not moves(daemon) and not moves({"metadata": {}, "status": {"phase": "Succeeded"}})
    assert moves({"metadata": {}, "status": {"phase": "Pending"}})


def test_a_pod_that_nobody_makes_again_must_be_allowed(stage: KubeStage, node: str) -> None:
    pod(stage, node, "lone")
    refused = stage.play([step(node, drain=True)])
    assert refused.code == 2 and "lone_pods: true" in refused.messages, refused.messages
    assert stage.play([step(node, drain=True, lone_pods=True)]).code == 0


def test_a_budget_is_waited_for_and_named_when_the_time_is_over(
    stage: KubeStage, node: str
) -> None:
    version = "v1" if stage.api.get("/apis/policy/v1") else "v1beta1"
    budgets = f"/apis/policy/{version}/namespaces/{stage.namespace}/poddisruptionbudgets"
    pod(stage, node, "web", ownerReferences=owned(stage))
    made = stage.api.call(
        "POST",
        budgets,
        {
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        },
    )
    assert made["kind"] == "PodDisruptionBudget", made
    stage.api.status(
        f"{budgets}/web",
        observedGeneration=1,
        disruptionsAllowed=0,
        currentHealthy=1,
        desiredHealthy=1,
        expectedPods=1,
    )
    late = stage.play([step(node, drain=True, timeout=1)])
    assert (
        late.code == 2
        and "poddisruptionbudgets" in late.messages
        and "web must stay" in late.messages
    ), late.messages
    later(1.0, lambda: stage.api.call("DELETE", f"{budgets}/web"))
    assert stage.play([step(node, drain=True, timeout=20)]).code == 0
