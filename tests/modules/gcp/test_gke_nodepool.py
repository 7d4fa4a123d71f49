"""gcp.gke_nodepool: scaled from nothing, with accelerators, labels and taints; what is fixed is
refused."""

from __future__ import annotations

from typing import Any

from tests.modules.gcp.test_gke_cluster import CLUSTERS, cluster
from tests.support.aws.module_stage import keeps_its_promise
from tests.support.gcp.module_stage import GcpStage

A100 = {"accelerator": "nvidia-tesla-a100", "accelerators": 8}


def pool(name: str = "pool-1", **more: Any) -> dict[str, Any]:
    given = {"machine_type": "a2-highgpu-8g", "min_nodes": 0, "max_nodes": 2, **A100, **more}
    wanted = {"cluster": "{{ cluster.name }}", "name": name, **given}
    said = {key: value for key, value in wanted.items() if value is not None}
    return {"name": name, "gcp.gke_nodepool": said, "register": "pool"}


def plain(name: str = "cpus", **more: Any) -> dict[str, Any]:
    none = dict.fromkeys(("min_nodes", "max_nodes", "accelerator", "accelerators"))
    return pool(name, **{**none, "machine_type": "e2-standard-2", **more})


def test_it_keeps_its_promise(stage: GcpStage) -> None:
    def foreign() -> None:
        theirs = {
            "name": "pool-1",
            "initialNodeCount": 0,
            "config": {"machineType": "e2-standard-2"},
        }
        stage.gcp.done("POST", f"{CLUSTERS}/demo/nodePools", {"nodePool": theirs})

    other = pool(
        max_nodes=3,
        labels={"role": "trainer"},
        taints=[{"key": "spare", "value": "yes", "effect": "NoSchedule"}],
    )
    keeps_its_promise(stage, pool(), other, before=[cluster()], foreign=foreign)


def test_a_gpu_pool_begins_with_nothing_and_keeps_googles_taint(stage: GcpStage) -> None:
    assert stage.play([cluster(), pool()]).code == 0
    found = stage.gcp.get(f"{CLUSTERS}/demo/nodePools/pool-1")
    assert found["autoscaling"] == {"enabled": True, "minNodeCount": 0, "maxNodeCount": 2}
    assert found["config"]["accelerators"][0]["acceleratorType"] == "nvidia-tesla-a100"
    changed = stage.play([cluster(), pool(taints=[{"key": "mine", "effect": "NoExecute"}])])
    assert changed.code == 0 and changed.changed == ["pool-1"], changed.messages
    keys = {
        one["key"] for one in stage.gcp.get(f"{CLUSTERS}/demo/nodePools/pool-1")["config"]["taints"]
    }
    assert keys == {"nvidia.com/gpu", "mine"}


def test_two_pools_declared_together_wait_for_each_other(stage: GcpStage) -> None:
    run = stage.play([cluster(), pool(), plain(), plain("more", spot=True)])
    assert run.code == 0, run.messages
    pools = {one["name"]: one for one in stage.gcp.get(f"{CLUSTERS}/demo/nodePools")["nodePools"]}
    assert (
        set(pools) == {"main", "pool-1", "cpus", "more"} and pools["more"]["config"]["spot"] is True
    )


def test_a_fixed_number_is_changed_in_place(stage: GcpStage) -> None:
    stage.play([cluster(), plain(nodes=1)])
    run = stage.play([cluster(), plain(nodes=3)])
    assert run.code == 0 and run.changed == ["cpus"], run.messages
    assert stage.gcp.get(f"{CLUSTERS}/demo")["currentNodeCount"] == 5
    assert not stage.play([cluster(), plain(nodes=3)]).changed


def test_other_machines_are_refused_unless_it_may_be_replaced(stage: GcpStage) -> None:
    stage.play([cluster(), plain()])
    refused = stage.play([cluster(), plain(machine_type="e2-standard-4")])
    assert (
        refused.code == 2
        and "machineType is e2-standard-2 and e2-standard-4 is declared" in refused.messages
    )
    assert stage.play([cluster(), plain(machine_type="e2-standard-4", replace=True)]).code == 0
    assert (
        stage.gcp.get(f"{CLUSTERS}/demo/nodePools/cpus")["config"]["machineType"] == "e2-standard-4"
    )


def test_a_zone_without_the_accelerator_and_a_shortage_are_told(stage: GcpStage) -> None:
    run = stage.play([cluster(location="us-east1-b"), pool(location="us-east1-b")])
    assert (
        run.code == 2
        and 'Accelerator type "nvidia-tesla-a100" does not exist in zone us-east1-b' in run.messages
    )
    stage.gcp.fault("insufficient_capacity", instance_type="e2-standard-2")
    run = stage.play([cluster(), plain()])
    assert (
        run.code == 2
        and "node pool cpus is ERROR" in run.messages
        and "GCE_STOCKOUT" in run.messages
    )


def test_a_lost_answer_leaves_one_and_nonsense_is_told_before_anything_is_asked(
    stage: GcpStage,
) -> None:
    stage.gcp.fault("lost", service="container", action="nodePools.create", times=1)
    assert stage.play([cluster(), pool()]).code == 0
    assert [one["name"] for one in stage.gcp.get(f"{CLUSTERS}/demo/nodePools")["nodePools"]] == [
        "main",
        "pool-1",
    ]
