"""How large pods are, and what is refused before it is submitted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playrunner.training.kube.job_spec.names import new_id
from playrunner.training.kube.job_spec.node_capacity import amount, offers
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.request import LaunchRefused
from tests.support.launch.rendering import GIB, node
from trainer.profile import read_profile

SETTINGS = ClusterSettings(image="i", claim="c")
CPU = read_profile("gpt2-micro-smoke")
LLAMA = read_profile("llama2-7b")
BERT = read_profile("bert-large")


@pytest.mark.parametrize(
    ("kind", "gpus", "efa"), [("g4dn.xlarge", 1, 0), ("p4d.24xlarge", 8, 4), ("g5.12xlarge", 4, 1)]
)
def test_gpus_and_cards_are_counted_from_the_nodes(kind: str, gpus: int, efa: int) -> None:
    share = share_of(
        LLAMA,
        [node("a", kind, nvidia_com__gpu=float(gpus), vpc_amazonaws_com__efa=float(efa))],
        SETTINGS,
        RequestedNodes(1, 1),
    )
    assert share.processes == gpus
    assert dict(share.resources) == {
        "nvidia.com/gpu": str(gpus),
        **({"vpc.amazonaws.com/efa": str(efa)} if efa else {}),
    }


def test_huge_pages_are_asked_for_where_libfabric_may_use_them_and_only_there() -> None:
    offered = node("a", "p5.48xlarge", nvidia_com__gpu=8.0, vpc_amazonaws_com__efa=32.0, cpu=192.0)
    offered.has["hugepages-2Mi"] = offered.free["hugepages-2Mi"] = 5128 * 2.0**20
    share = share_of(LLAMA, [offered], SETTINGS, RequestedNodes(1, 1))
    assert "hugepages-2Mi" not in dict(share.resources)
    used = replace(SETTINGS, huge_pages=True)
    share = share_of(LLAMA, [offered], used, RequestedNodes(1, 1))
    assert dict(share.resources)["hugepages-2Mi"] == "5120Mi"


@pytest.mark.parametrize(
    ("kind", "processes"), [("trn1.32xlarge", 32), ("trn1n.32xlarge", 32), ("trn2.48xlarge", 64)]
)
def test_a_process_for_every_neuron_core(kind: str, processes: int) -> None:
    share = share_of(
        BERT, [node("a", kind, aws_amazon_com__neuron=16.0)], SETTINGS, RequestedNodes(1, 1)
    )
    assert (share.device, share.processes) == ("neuron", processes)


def test_shared_memory_is_half_of_the_node_s_and_within_what_the_pod_may_have() -> None:
    large = node("a", "g4dn.xlarge", nvidia_com__gpu=1.0, memory=64 * GIB)
    assert share_of(LLAMA, [large], SETTINGS, RequestedNodes(1, 1)).shm_gib == 32
    on_cpus = share_of(CPU, [node("a", memory=64 * GIB)], SETTINGS, RequestedNodes(1, 1))
    assert f"{on_cpus.shm_gib}Gi" == "6Gi" and dict(on_cpus.limits) == {"memory": "6152Mi"}


def test_a_job_that_does_not_fit_is_refused_with_the_numbers() -> None:
    offered = [
        node("a", "p4d.24xlarge", nvidia_com__gpu=8.0),
        node("b", "p4d.24xlarge", {"nvidia.com/gpu": 8.0}, nvidia_com__gpu=8.0),
    ]
    with pytest.raises(LaunchRefused) as refused:
        share_of(LLAMA, offered, SETTINGS, RequestedNodes(2, 2))
    said = str(refused.value)
    assert "2 nodes with 8 nvidia.com/gpu free are wanted, and the cluster has 1" in said
    assert "a has 8 of 8 nvidia.com/gpu free" in said
    assert "b has 0 of 8 nvidia.com/gpu free, held by another-run-worker-0" in said
    assert "use --nodes 1" in said


def test_nodes_without_the_device_plugin_are_told_apart_from_nodes_without_devices() -> None:
    with pytest.raises(
        LaunchRefused,
        match=r"no node offers nvidia.com/gpu.*a \(g4dn.xlarge\).*invoke nvidia.create",
    ):
        share_of(LLAMA, [node("a", "g4dn.xlarge")], SETTINGS, RequestedNodes(1, 1))


def test_an_elastic_run_may_not_grow_beyond_the_cluster() -> None:
    with pytest.raises(LaunchRefused, match=r"set launch\.max_nodes=2"):
        share_of(CPU, [node("a"), node("b")], SETTINGS, RequestedNodes(1, 8))


def test_nodes_that_are_still_to_come_count_by_the_instance_table() -> None:
    settings = ClusterSettings(
        image="i", claim="c", autoscaled_nodes=4, instance_type="p4d.24xlarge"
    )
    share = share_of(LLAMA, [node("main", "e2-standard-4")], settings, RequestedNodes(4, 4))
    assert dict(share.resources) == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "4"}
    assert share.instance_type == "p4d.24xlarge"


def test_tainted_and_cordoned_nodes_do_not_count() -> None:
    offered = [
        node("a"),
        replace(node("b"), taints=(("reserved", "", "NoSchedule"),)),
        replace(node("c"), usable=False),
    ]
    with pytest.raises(
        LaunchRefused,
        match=r"the cluster has 1: .*b is tainted \(reserved\); c is not ready or cordoned",
    ):
        share_of(CPU, offered, SETTINGS, RequestedNodes(2, 2))
    tolerant = ClusterSettings(
        image="i", claim="c", tolerations=({"key": "reserved", "operator": "Exists"},)
    )
    assert share_of(CPU, offered, tolerant, RequestedNodes(2, 2)).processes == 1


def test_what_others_hold_is_taken_off_what_a_node_has() -> None:
    nodes = [
        {
            "metadata": {"name": "a"},
            "status": {
                "allocatable": {"cpu": "1930m", "memory": "7Gi", "nvidia.com/gpu": "4"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    ]
    resources = {"requests": {"cpu": "500m"}, "limits": {"nvidia.com/gpu": "3", "cpu": "2"}}
    pods = [
        {
            "metadata": {"name": "x"},
            "spec": {"nodeName": "a", "containers": [{"name": "c", "resources": resources}]},
        }
    ]
    (found,) = offers(nodes, pods)
    assert (found.free["cpu"], found.free["nvidia.com/gpu"]) == (pytest.approx(1.43), 1.0)


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2.0), ("1930m", 1.93), ("7Gi", 7 * GIB), ("5120Mi", 5 * GIB), ("1k", 1000.0)],
)
def test_quantities_are_numbers(text: str, number: float) -> None:
    assert amount(text) == pytest.approx(number)


def test_ids_are_unique_and_fit_every_name_that_is_made_of_them() -> None:
    made = {new_id("a" * 53) for _ in range(200)} | {new_id("gpt2")}
    assert len(made) == 201
    for each in made:
        assert len(f"{each}-role1-1023-0") <= 63
        assert each == each.lower() and "_" not in each and each[0].isalpha()


def test_a_run_may_grow_as_far_as_the_group_of_its_nodes() -> None:
    offered = [node("a", "m5.large", cpu=2.0)]
    assert (
        share_of(
            CPU, offered, SETTINGS, RequestedNodes(1, 3, growth=lambda likes: 3 - len(likes))
        ).processes
        == 1
    )
    with pytest.raises(LaunchRefused, match=r"the cluster has 2 nodes .* set launch\.max_nodes=2"):
        share_of(CPU, offered, SETTINGS, RequestedNodes(1, 3, growth=lambda likes: 1))
