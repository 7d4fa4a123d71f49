"""Who is put aside when a gate stays closed, and how it comes back: hosts by a record, a cluster's
nodes by a taint."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playrunner.errors import BadInput
from playrunner.inventory.inventory import read_inventory
from playrunner.options import Options
from playrunner.sandbox.kube.process import process
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Quarantine, seconds_of
from playrunner.training.kube.network.pool import ClusterPool
from playrunner.training.kube.session import open_session
from playrunner.training.netcheck.spares import NoSpare, Search, should_retry
from playrunner.training.quarantine_setting import read_setting
from playrunner.training.request import Request
from playrunner.training.ssh.pool import HostPool
from tests.support import runner
from tests.support.kube.module_stage import Api
from trainer.netcheck.verdict import Verdict

HOUR = 3600.0


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fleet]]:
    """Hosts of an inventory whose records are the test's own; nobody is reached."""
    monkeypatch.setenv("PLAYRUNNER_STATE_HOME", str(tmp_path / "state"))

    def made(**addresses: str) -> Fleet:
        content = {
            "all": {
                "hosts": {name: {"ansible_host": address} for name, address in addresses.items()}
            }
        }
        (tmp_path / "inventory.yaml").write_text(json.dumps(content))
        return Fleet(read_inventory([str(tmp_path / "inventory.yaml")]))

    yield made


def named(fleet: Fleet) -> list[str]:
    return list(Quarantine(fleet).entries())


def test_a_host_is_put_aside_with_its_reason_and_let_out_again(fleet: Callable[..., Fleet]) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    entry = Quarantine(hosts).put("b", "slow to everybody", HOUR)
    assert entry.reason == "slow to everybody" and 3500 < entry.until - time.time() <= HOUR
    assert named(hosts) == ["b"]
    assert Quarantine(hosts).release("b") and not Quarantine(hosts).release("b")
    assert named(hosts) == []


def test_time_heals_and_so_does_a_new_machine_under_the_old_name(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    Quarantine(hosts).put("a", "slow", -1)
    Quarantine(hosts).put("b", "slow", HOUR)
    assert named(hosts) == ["b"]
    assert named(fleet(a="10.0.0.1", b="10.0.0.9")) == []


def slow(*nodes: str) -> Verdict:
    return Verdict(False, tuple(f"{node} is slow to 2 of 2 nodes" for node in nodes), nodes, nodes)


def link(one: str, other: str) -> Verdict:
    return Verdict(False, (f"the link {one} - {other} is slow",), (one, other), (), ((one, other),))


def another_try(search: Search, verdict: Verdict, hosts: Fleet, wanted: int) -> bool:
    """Whether a launch on the first of these hosts would go on."""
    pool = HostPool(hosts, Options(), wanted)
    return should_retry(search, verdict, pool.left(())[:wanted], pool)


def test_a_culprit_leaves_at_once_where_another_can_take_its_place(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4")
    assert another_try(Search("run"), slow("b"), hosts, 3)
    assert named(hosts) == ["b"]
    assert (
        Quarantine(hosts).entries()["b"].reason
        == "b is slow to 2 of 2 nodes (network check of run)"
    )


def test_without_a_spare_a_node_leaves_only_when_it_is_named_again_and_is_told_to_be_out(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3"), Search("run")
    assert another_try(search, slow("b"), hosts, 3), "the network is checked again"
    assert named(hosts) == []
    with pytest.raises(NoSpare) as refused:
        another_try(search, slow("b"), hosts, 3)
    assert "b: named by 2 network checks and quarantined for 24h" in str(refused.value)
    assert "invoke nodes.release b (without it: --nodes 2)" in str(refused.value)
    assert named(hosts) == ["b"]


def test_a_gate_that_names_somebody_else_each_time_puts_nobody_aside(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3"), Search("run")
    assert another_try(search, slow("b"), hosts, 3)
    assert not another_try(search, slow("c"), hosts, 3)
    assert named(hosts) == []


def test_without_a_spare_nobody_leaves_for_a_link_that_has_two_ends(
    fleet: Callable[..., Fleet],
) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2")
    assert not another_try(Search("run"), link("a", "b"), hosts, 2)
    assert named(hosts) == []


def test_when_most_nodes_are_bad_it_is_not_the_nodes(fleet: Callable[..., Fleet]) -> None:
    hosts = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4", e="10.0.0.5")
    assert not another_try(Search("run"), slow("a", "b"), hosts, 3)
    assert not another_try(Search("run"), Verdict(False, ("every link is slow",), ("a",)), hosts, 3)
    assert named(hosts) == []


def test_of_two_nodes_the_later_goes_first_and_comes_back_when_it_was_the_other(
    fleet: Callable[..., Fleet],
) -> None:
    hosts, search = fleet(a="10.0.0.1", b="10.0.0.2", c="10.0.0.3", d="10.0.0.4"), Search("run")
    assert another_try(search, link("a", "b"), hosts, 2)
    assert named(hosts) == ["b"]
    assert another_try(search, link("a", "c"), hosts, 2)
    assert named(hosts) == ["a"]


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400.0), ("24h", 86400.0), ("3d", 259200.0)])
def test_a_time_is_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "0h", "tomorrow", "5"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="90m, 24h or 3d"):
        seconds_of(text)


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
    cluster.call("POST", "/api/v1/nodes", {"metadata": {"name": "gpu-3"}})
    assert nodes("quarantine", "gpu-1,gpu-3", "--reason", "slow").data["changed"]
    assert nodes("release", "gpu-1,gpu-3").data == {
        "node": "gpu-1,gpu-3",
        "changed": True,
        "msg": "gpu-1 may be used again\ngpu-3 may be used again",
    }
    nodes("quarantine", "gpu-1,gpu-3", "--reason", "slow")
    assert nodes("release", "--all").data["msg"] == "released: gpu-1, gpu-3"
    assert not nodes("release", "--all").data["changed"]
    refused = nodes("release", "gpu-1,nobody")
    assert refused.code == 5 and 'there is no node "nobody"' in refused.data["error"]


@pytest.mark.parametrize("value", ["cordn", "taint soon", "0h"])
def test_a_wrong_train_quarantine_is_told_with_what_it_may_be(value: str) -> None:
    with pytest.raises(BadInput, match="it is suggest, taint, cordon, a duration such as 24h"):
        read_setting(value)
