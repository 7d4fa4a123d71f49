"""The gate on eight machines: a slow one and a dead link are named in few rounds; and the bandwidth
of healthy nodes is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.launch.namespaces import Field, Machines, machines
from tests.support.launch.site import Site
from tests.support.runner import Outcome

NODES = tuple(f"node{number}" for number in range(1, 9))
MOST_ROUNDS = 4  # the logarithm of eight, and one


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


def test_a_slow_node_of_eight_is_named_in_few_rounds(cluster: Machines, field: Field) -> None:
    cluster.slow("node6", "20mbit")
    try:
        told = _bench(field)
    finally:
        cluster.hasten("node6")
    assert told["verdict"]["culprits"] == ["node6"], told["verdict"]


def test_a_dead_link_of_eight_nodes_is_named_in_few_rounds(cluster: Machines, field: Field) -> None:
    with cluster.severed("node3", "node7"):
        told = _bench(field)
    assert told["verdict"]["links"] == [["node3", "node7"]], told["verdict"]
    assert told["verdict"]["culprits"] == []


def _bench(field: Field) -> Any:
    measured: Outcome = field.invoke("train.bench", "--nodes", 8, "--json")
    assert measured.code == 6, measured.text
    assert 0 < measured.data["result"]["rounds"]["done"] <= MOST_ROUNDS
    return measured.data


def test_the_bandwidth_between_nodes_is_told_and_kept_with_its_chart(site: Site) -> None:
    measured = site.invoke(
        "nccl-image.bench", "--nodes", 2, "--begin", "4K", "--end", "1M", "--repeats", 2, "--json"
    )
    assert measured.code == 0, measured.text
    rows = measured.data["rows"]
    assert [row["bytes"] for row in rows] == [2**power for power in range(12, 21)]
    assert all(row["wrong"] == 0 for row in rows) and rows[-1]["bus_gbytes"] > 0
    assert measured.data["devices"] == {"node1": 1, "node2": 1}
    folder = Path(measured.data["folder"])
    assert (folder / "bandwidth.svg").read_text().startswith("<svg ")
    assert json.loads((folder / "bandwidth.json").read_text())["rows"] == rows


def test_a_playbook_measures_and_writes_the_numbers_down(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "bandwidth.json"
    variables = json.dumps({"bandwidth_file": str(file), "bandwidth_end": "64K"})
    played = site.invoke(
        "play",
        "playbooks/nccl-bandwidth.yaml",
        "--limit",
        "localhost,node1,node2",
        "--extra-vars",
        variables,
        "--json",
    )
    assert played.code == 0, played.text
    assert [row["bytes"] for row in json.loads(file.read_text())] == [
        2**power for power in range(10, 17)
    ]
    assert (
        played.result("node2", "all-reduce")["values"]["rows"] == []
    )  # the first host tells for all
