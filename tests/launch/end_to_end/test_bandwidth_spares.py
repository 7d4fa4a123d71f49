"""Launches with a bad node among them: it is named, put into quarantine, and a spare takes its
place. Needs root."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.launch.namespaces import Field, Machines, machines
from tests.support.runner import Outcome

SHORT = (
    "train.steps=3",
    "train.log.every=1",
    "train.checkpoint.every=3",
    "train.evaluate.batches=1",
    "train.batch_size=6",
    "train.device_batch_size=1",
    "train.schedule.warmup_steps=2",
)
NODES = ("node1", "node2", "node3", "node4")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines")) as made:
        lane = made.lane()
        for name in NODES:
            made.add(name, lane)
        yield made


@pytest.fixture
def field(cluster: Machines) -> Iterator[Field]:
    with cluster.site(cluster.inventory(*NODES)) as made:
        yield made
        for name in NODES:
            made.invoke("nodes.release", name)


def test_a_slow_node_is_put_aside_and_the_launch_goes_on_with_the_spare(
    cluster: Machines, field: Field
) -> None:
    cluster.slow("node2", "20mbit")
    try:
        launched = field.launch("slowed", "--nodes", 3, settings=SHORT)
    finally:
        cluster.hasten("node2")
    assert launched.code == 0, launched.text
    assert "the network check failed: node2 is slow to 2 of 2 nodes" in launched.err
    assert "slowed continues with node1, node3, node4" in launched.err
    assert set(field.losses("slowed")) == {1, 2, 3}
    assert _aside(field) == {"node2"}
    _stays_aside(field.launch("later", "--nodes", 4, settings=SHORT))


def test_a_dead_link_costs_one_of_its_ends_and_the_launch_goes_on_with_the_spare(
    cluster: Machines, field: Field
) -> None:
    with cluster.severed("node2", "node3"):
        launched = field.launch("severed", "--nodes", 3, settings=SHORT)
    assert launched.code == 0, launched.text
    assert "the link node2 - node3 is dead" in launched.err
    assert "severed continues with node1, node2, node4" in launched.err
    assert _aside(field) == {"node3"}


def test_a_bandwidth_that_is_too_small_is_traced_to_the_node_and_measured_again_without_it(
    cluster: Machines,
) -> None:
    # A hundredth of what these machines carry, and four times what the slow one does.
    with cluster.site(
        cluster.inventory(*NODES, file="expecting.yaml", train_expected_bus_gbytes=0.01)
    ) as field:
        cluster.slow("node2", "20mbit")
        try:
            measured = field.invoke(
                "nccl-image.bench",
                "--nodes",
                3,
                "--begin",
                "64K",
                "--end",
                "256K",
                "--repeats",
                3,
                "--json",
            )
        finally:
            cluster.hasten("node2")
            aside = _aside(field)
            field.invoke("nodes.release", "node2")
    assert measured.code == 0, measured.text
    assert set(measured.data["devices"]) == {"node1", "node3", "node4"}
    assert aside == {"node2"}


def _aside(field: Field) -> set[str]:
    listed = field.invoke("nodes.list", "--json").data["nodes"]
    assert all(
        "(network check of " in each["quarantine"]["reason"]
        for each in listed
        if each["quarantine"]
    ), listed
    return {each["name"] for each in listed if each["quarantine"]}


def _stays_aside(refused: Outcome) -> None:
    assert refused.code == 5, refused.text
    assert "in quarantine: node2" in refused.err
