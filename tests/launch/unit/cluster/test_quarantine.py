"""Nodes of a cluster that are put aside when a gate stays closed, and how they come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.options import Options
from playrunner.sandbox.kube.process import process
from playrunner.training.kube.network.pool import ClusterPool
from playrunner.training.kube.session import open_session
from playrunner.training.netcheck.spares import NoSpare, Search, should_retry
from playrunner.training.request import Request
from tests.support import runner
from tests.support.kube.module_stage import Api
from trainer.netcheck.verdict import Verdict


def slow(*nodes: str) -> Verdict:
    return Verdict(False, tuple(f"{node} is slow to 2 of 2 nodes" for node in nodes), nodes, nodes)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    root = tmp_path_factory.mktemp("kube")
    up = process.up(root, pretend=True)
    yield Api(Path(up.kubeconfig), up.flavour)
    process.down(root)


@pytest.fixture
def nodes(cluster: Api, tmp_path: Path) -> Callable[..., Any]:
    """`nodes("list")`: a verb of the group, on an inventory of this cluster and one host; what it
    says as JSON."""
    (tmp_path / "inventory.yaml").write_text(
        json.dumps(
            {
                "all": {
                    "vars": {"kubeconfig": str(cluster.kubeconfig)},
                    "hosts": {"host1": {"ansible_host": "192.0.2.1"}},
                }
            }
        )
    )

    def verb(name: str, *words: str) -> runner.Outcome:
        return runner.invoke(
            f"nodes.{name}",
            *words,
            "--json",
            "--inventory",
            tmp_path / "inventory.yaml",
            state=tmp_path,
        )

    return verb


def test_a_clusters_node_is_tainted_and_cordoned_with_our_mark_and_gets_back_what_it_had(
    cluster: Api, nodes: Callable[..., runner.Outcome]
) -> None:
    other = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    cluster.call(
        "POST", "/api/v1/nodes", {"metadata": {"name": "gpu-1"}, "spec": {"taints": [other]}}
    )
    assert nodes("quarantine", "gpu-1", "--reason", "slow", "--check").data["changed"]
    assert cluster.get("/api/v1/nodes/gpu-1")["spec"]["taints"] == [other]
    assert nodes("quarantine", "gpu-1", "--reason", "slow", "--ttl", "2h").data["changed"]
    assert not nodes("quarantine", "gpu-1", "--reason", "slow").data["changed"]
    spec = cluster.get("/api/v1/nodes/gpu-1")["spec"]
    assert spec["unschedulable"] and [taint["key"] for taint in spec["taints"]] == [
        "dedicated",
        "playrunner.io/quarantine",
    ]
    listed = {each["name"]: each for each in nodes("list").data["nodes"]}
    assert (
        listed["gpu-1"]["quarantine"]["reason"] == "slow" and listed["host1"]["quarantine"] is None
    )
    assert (
        nodes("release", "gpu-1").data["changed"] and not nodes("release", "gpu-1").data["changed"]
    )
    spec = cluster.get("/api/v1/nodes/gpu-1")["spec"]
    assert spec["taints"] == [other] and not spec.get("unschedulable")


def test_a_node_that_somebody_else_cordoned_stays_so(
    cluster: Api, nodes: Callable[..., runner.Outcome]
) -> None:
    cluster.call(
        "POST", "/api/v1/nodes", {"metadata": {"name": "gpu-2"}, "spec": {"unschedulable": True}}
    )
    assert not nodes("release", "gpu-2").data["changed"]
    nodes("quarantine", "gpu-2")
    assert nodes("release", "gpu-2").data["changed"]
    assert cluster.get("/api/v1/nodes/gpu-2")["spec"]["unschedulable"]


def test_a_node_that_is_not_there_is_bad_input(nodes: Callable[..., runner.Outcome]) -> None:
    refused = nodes("quarantine", "nobody")
    assert refused.code == 5 and 'there is no node "nobody"' in refused.data["error"]


@pytest.fixture
def pool(cluster: Api, tmp_path: Path) -> Iterator[Callable[..., ClusterPool]]:
    """What a launch on three nodes that have room would have to choose from."""
    ready = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    names = [f"cpu-{number}" for number in range(3)]
    for name in names:
        cluster.call(
            "POST",
            "/api/v1/nodes",
            {"metadata": {"name": name}, "spec": {"podCIDR": "10.0.0.0/24"}},
        )
        cluster.call(
            "PATCH",
            f"/api/v1/nodes/{name}/status",
            {"status": ready},
            "application/merge-patch+json",
        )

    def made(*overrides: str, mode: str = "cordon") -> ClusterPool:
        (tmp_path / "inventory.yaml").write_text(
            json.dumps(
                {
                    "all": {
                        "vars": {
                            "kubeconfig": str(cluster.kubeconfig),
                            "train_quarantine": mode,
                        }
                    }
                }
            )
        )
        site = open_session(Options(inventory=(str(tmp_path / "inventory.yaml"),)))
        return ClusterPool(
            Request("gpt2-micro-smoke", nodes=3, overrides=overrides), site, "pytorchjob"
        )

    yield made
    for name in names:
        cluster.call("DELETE", f"/api/v1/nodes/{name}")


def test_a_clusters_node_leaves_when_it_is_named_again_and_the_launch_says_how_it_comes_back(
    cluster: Api, pool: Callable[..., ClusterPool]
) -> None:
    search, nodes = Search("run"), ["cpu-0", "cpu-1", "cpu-2"]
    assert should_retry(search, slow("cpu-1"), nodes, pool()), "the network is checked again"
    assert "taints" not in cluster.get("/api/v1/nodes/cpu-1")["spec"]
    with pytest.raises(NoSpare, match=r"invoke nodes\.release cpu-1"):
        should_retry(search, slow("cpu-1"), nodes, pool())
    assert [taint["key"] for taint in cluster.get("/api/v1/nodes/cpu-1")["spec"]["taints"]] == [
        "playrunner.io/quarantine"
    ]


def test_an_elastic_run_goes_on_with_those_who_remain(
    cluster: Api, pool: Callable[..., ClusterPool]
) -> None:
    few = pool("launch.min_nodes=1", "launch.max_nodes=3")
    assert should_retry(Search("run"), slow("cpu-1"), ["cpu-0", "cpu-1", "cpu-2"], few)
    assert few.request.nodes == 2 and few.request.overrides[-1] == "launch.max_nodes=2"
    assert cluster.get("/api/v1/nodes/cpu-1")["spec"]["unschedulable"]


def test_without_being_told_to_a_launch_goes_round_a_bad_node_and_leaves_it_to_others(
    cluster: Api, pool: Callable[..., ClusterPool]
) -> None:
    few = pool("launch.min_nodes=1", "launch.max_nodes=3", mode="suggest")
    assert should_retry(Search("run"), slow("cpu-1"), ["cpu-0", "cpu-1", "cpu-2"], few)
    assert (few.request.nodes, few.request.avoid) == (2, ("cpu-1",))
    spec = cluster.get("/api/v1/nodes/cpu-1")["spec"]
    assert "taints" not in spec and "unschedulable" not in spec


def test_a_taint_alone_does_not_cordon(cluster: Api, pool: Callable[..., ClusterPool]) -> None:
    few = pool("launch.min_nodes=1", "launch.max_nodes=3", mode="taint 2h")
    assert should_retry(Search("run"), slow("cpu-1"), ["cpu-0", "cpu-1", "cpu-2"], few)
    spec = cluster.get("/api/v1/nodes/cpu-1")["spec"]
    assert [taint["key"] for taint in spec["taints"]] == ["playrunner.io/quarantine"]
    assert "unschedulable" not in spec


def test_many_nodes_are_released_by_one_command(
    cluster: Api, nodes: Callable[..., runner.Outcome]
) -> None:
    for name in ("gpu-4", "gpu-5"):
        cluster.call("POST", "/api/v1/nodes", {"metadata": {"name": name}, "spec": {}})
    aside = nodes("quarantine", "gpu-4,gpu-5", "--reason", "slow")
    assert aside.data.get("changed"), aside.text
    assert nodes("release", "gpu-4,gpu-5").data == {
        "node": "gpu-4,gpu-5",
        "changed": True,
        "msg": "gpu-4 may be used again\ngpu-5 may be used again",
    }
    nodes("quarantine", "gpu-4,gpu-5", "--reason", "slow")
    assert nodes("release", "--all").data["msg"] == "released: gpu-4, gpu-5"
    assert not nodes("release", "--all").data["changed"]
    refused = nodes("release", "gpu-4,nobody")
    assert refused.code == 5 and 'there is no node "nobody"' in refused.data["error"]
