"""Cores, memory and local disk of a pod: from the node's size, the model and what the user says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playrunner.errors import BadInput
from playrunner.training.kube.job_spec.node_capacity import amount, demand
from playrunner.training.kube.job_spec.sizing import RequestedNodes, share_of
from playrunner.training.kube.session import ClusterSettings
from playrunner.training.request import LaunchRefused
from tests.support.launch.rendering import GIB, node
from trainer.profile import read_profile

SETTINGS = ClusterSettings(image="i", claim="c")
LLAMA, CPU = read_profile("llama2-7b"), read_profile("gpt2-micro-smoke")
P5 = {"nvidia_com__gpu": 8.0, "vpc_amazonaws_com__efa": 32.0, "cpu": 192.0, "memory": 2000 * GIB}


def test_a_pod_with_a_whole_node_is_guaranteed_nine_tenths_of_it() -> None:
    share = share_of(LLAMA, [node("a", "p5.48xlarge", **P5)], SETTINGS, RequestedNodes(1, 1))
    assert dict(share.requests) == dict(share.limits) == {"cpu": "172", "memory": "1800Gi"}


def test_what_small_pods_of_the_node_hold_is_left_to_them() -> None:
    busy = node("a", "p5.48xlarge", {"cpu": 30.0, "memory": 300 * GIB}, **P5)
    share = share_of(LLAMA, [busy], SETTINGS, RequestedNodes(1, 1))
    assert dict(share.requests) == {"cpu": "162", "memory": "1700Gi"}


def test_a_node_whose_memory_another_holds_is_told_with_the_numbers() -> None:
    held = node("a", "p5.48xlarge", {"memory": 1500 * GIB}, **P5)
    with pytest.raises(
        LaunchRefused, match=r"a has 500Gi of 2000Gi memory free and .* free, held by"
    ):
        share_of(LLAMA, [held], SETTINGS, RequestedNodes(1, 1))


def test_a_part_of_the_devices_takes_that_part_of_the_node() -> None:
    half = RequestedNodes(1, 1, processes=4)
    share = share_of(LLAMA, [node("a", "p5.48xlarge", **P5)], SETTINGS, half)
    assert dict(share.requests) == {"cpu": "86", "memory": "900Gi"}


def test_on_cpus_memory_follows_from_the_model_and_cores_are_not_throttled() -> None:
    share = share_of(CPU, [node("a")], SETTINGS, RequestedNodes(1, 1))
    assert dict(share.requests) == {"cpu": "1", "memory": "1538Mi"}
    assert dict(share.limits) == {"memory": "6152Mi"}


M5_LARGE = {"cpu": 1.92, "memory": 7 * GIB}


def test_two_processes_fit_on_a_machine_of_two_cores_that_offers_less_than_two() -> None:
    nodes = [node(name, "m5.large", {"cpu": 0.1}, **M5_LARGE) for name in ("a", "b")]
    share = share_of(read_profile("mnist-mlp"), nodes, SETTINGS, RequestedNodes(2, 2))
    assert share.processes == 2
    assert 1.72 < amount(dict(share.requests)["cpu"]) <= 1.728 and "cpu" not in dict(share.limits)


def test_processes_take_what_the_nodes_have_left_down_to_half_a_core_each() -> None:
    busy = node("a", "m5.large", {"cpu": 0.6}, **M5_LARGE)
    mnist = read_profile("mnist-mlp")
    share = share_of(mnist, [busy], SETTINGS, RequestedNodes(1, 1))
    assert 1.31 < amount(dict(share.requests)["cpu"]) <= 1.32
    full = node("a", "m5.large", {"cpu": 1.3}, **M5_LARGE)
    with pytest.raises(LaunchRefused, match=r"86[34]m cpu free.*has 0\.62 of 1\.92 cpu free"):
        share_of(mnist, [full], SETTINGS, RequestedNodes(1, 1))


def test_what_the_inventory_says_wins_and_is_the_limit_too() -> None:
    said = replace(SETTINGS, resources={"memory": "3Gi", "ephemeral-storage": "20Gi"})
    share = share_of(CPU, [node("a")], said, RequestedNodes(1, 1))
    assert dict(share.requests) == {"cpu": "1", "memory": "3Gi", "ephemeral-storage": "20Gi"}
    assert dict(share.limits) == {"memory": "3Gi", "ephemeral-storage": "20Gi"}


@pytest.mark.parametrize(
    ("resources", "complaint"),
    [({"gpu": "1"}, "it is cpu, memory, ephemeral-storage"), ({"memory": "much"}, "as 8 or 64Gi")],
)
def test_a_wrong_amount_is_told(resources: dict[str, str], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        share_of(CPU, [node("a")], replace(SETTINGS, resources=resources), RequestedNodes(1, 1))


def test_nodes_that_offer_fewer_cards_than_their_type_has_are_told() -> None:
    without = {**P5, "vpc_amazonaws_com__efa": 0.0}
    share = share_of(LLAMA, [node("a", "p5.48xlarge", **without)], SETTINGS, RequestedNodes(1, 1))
    (note,) = share.notes
    assert "p5.48xlarge nodes have 32 EFA cards" in note and "efa.create" in note
    whole = share_of(LLAMA, [node("a", "p5.48xlarge", **P5)], SETTINGS, RequestedNodes(1, 1))
    assert whole.notes == ()


def test_init_and_sidecar_containers_and_overhead_hold_what_the_scheduler_counts() -> None:
    def asks(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [asks("1", restartPolicy="Always"), asks("5")],
        "containers": [asks("2"), asks("1")],
        "overhead": {"cpu": "250m"},
    }
    assert demand({"spec": spec}) == {"pods": 1.0, "cpu": 6.25}
    assert demand({"spec": {**spec, "containers": [asks("7")]}})["cpu"] == 8.25
