"""Elastic runs: they go on when a node is lost, and take it in again when it is back."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.support.launch.namespaces import Field, Machines, machines
from tests.support.launch.site import PACE
from tests.support.until import until

ELASTIC = (
    "launch.min_nodes=1",
    "launch.max_nodes=2",
    "train.steps=100000",
    PACE,
    "train.log.every=1",
    "train.checkpoint.every=5",
    "train.checkpoint.keep=3",
    "train.evaluate.batches=1",
    "train.batch_size=4",
    "train.device_batch_size=2",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines")) as made:
        lane = made.lane()
        for name in ("node1", "node2", "node3"):
            made.add(name, lane)
        yield made


@pytest.fixture
def field(cluster: Machines) -> Iterator[Field]:
    with cluster.site(cluster.inventory("node1", "node2", train_lease_seconds=8)) as made:
        yield made


def test_a_run_shrinks_when_a_node_is_lost_and_grows_when_it_is_back(
    cluster: Machines, field: Field
) -> None:
    running = _begin(field, "shrunk")
    _await_checkpoint(field, "shrunk", running)
    _await_ranks(field, "shrunk", 2)
    since = time.monotonic()
    cluster.power_off("node2")
    last = max(field.losses("shrunk"))
    field.await_that(
        lambda: field.supervisor("shrunk", "node1")["lost"] == ["node2"],
        "the loss",
        running,
        seconds=5,
    )
    field.await_step("shrunk", last + 3, running)
    assert time.monotonic() - since < 60
    _await_ranks(field, "shrunk", 1)
    assert "resuming from" in (field.folder("shrunk") / "nodes" / "node1" / "log").read_text()
    assert min(_printed(field, "shrunk", "node1")[1]) > 5
    cluster.power_on("node2")
    field.await_that(
        lambda: field.supervisor("shrunk", "node1")["lost"] == [], "the return", running, seconds=30
    )
    _await_ranks(field, "shrunk", 2)
    field.await_step("shrunk", max(field.losses("shrunk")) + 3, running)
    seen = field.invoke("train.status", "--name", "shrunk", "--json").data
    assert seen["nodes"] == {"node1": "running", "node2": "running"}
    said = _stop(field, "shrunk", running)
    assert "node2 is lost; the run goes on without it" in said
    assert "node2 answers again: it joins the run" in said
    steps = field.losses("shrunk")
    assert set(steps) == set(range(1, max(steps) + 1))


def test_a_run_on_three_nodes_goes_on_when_one_is_lost_and_when_it_is_back(
    cluster: Machines,
) -> None:
    """Growing, the launchers end the ranks that train: not all at once, and the first to end must
    not end the run for all."""
    settings = (
        *ELASTIC,
        "launch.min_nodes=2",
        "launch.max_nodes=3",
        "train.batch_size=6",
        "train.device_batch_size=1",
    )
    with cluster.site(cluster.inventory("node1", "node2", "node3", train_lease_seconds=8)) as field:
        running = field.begin("three", "--nodes", 3, "--launcher", "torchrun", settings=settings)
        _await_checkpoint(field, "three", running)
        _await_ranks(field, "three", 3)
        cluster.power_off("node3")
        field.await_that(
            lambda: field.supervisor("three", "node1")["lost"] == ["node3"],
            "the loss",
            running,
            seconds=10,
        )
        field.await_step("three", max(field.losses("three")) + 3, running)
        _await_ranks(field, "three", 2)
        cluster.power_on("node3")
        field.await_that(
            lambda: field.supervisor("three", "node1")["lost"] == [],
            "the return",
            running,
            seconds=30,
        )
        _await_ranks(field, "three", 3)
        field.await_step("three", max(field.losses("three")) + 3, running)
        seen = field.invoke("train.status", "--name", "three", "--json").data
        assert seen["nodes"] == dict.fromkeys(("node1", "node2", "node3"), "running")
        _stop(field, "three", running)
        steps = field.losses("three")
        assert set(steps) == set(range(1, max(steps) + 1))


def test_a_run_whose_first_node_is_lost_goes_on_with_the_others(
    cluster: Machines, field: Field
) -> None:
    running = _begin(field, "headless")
    _await_checkpoint(field, "headless", running)
    since = time.monotonic()
    cluster.power_off("node1")
    try:
        last = max(field.losses("headless"))
        field.await_step("headless", last + 3, running)
        assert time.monotonic() - since < 60
        seen = field.invoke("train.status", "--name", "headless", "--json").data
        assert (seen["state"], seen["nodes"]) == ("running", {"node2": "running"})
        assert "headless continues on node2" in _stop(field, "headless", running)
    finally:
        cluster.power_on("node1")
        until(cluster.all["node1"].answers, what="node1 answers")


def test_a_detached_run_is_made_whole_again_by_scale(cluster: Machines, field: Field) -> None:
    begun = field.launch(
        "alone", "--nodes", 2, "--launcher", "torchrun", "--detach", settings=ELASTIC
    )
    assert begun.code == 0, begun.text
    _await_ranks(field, "alone", 2)
    field.await_step("alone", 6)
    cluster.power_off("node2")
    field.await_that(
        lambda: field.supervisor("alone", "node1")["lost"] == ["node2"], "the loss", seconds=5
    )
    cluster.power_on("node2")
    seen = field.invoke("train.status", "--name", "alone", "--json").data
    assert (seen["state"], seen["nodes"]) == ("running", {"node1": "running", "node2": "lost"})
    scaled = field.invoke("train.scale", "--name", "alone", "--nodes", 2, "--detach")
    assert scaled.code == 0, scaled.text
    seen = field.invoke("train.status", "--name", "alone", "--json").data
    assert seen["nodes"] == {"node1": "running", "node2": "running"}
    assert field.invoke("train.stop", "--name", "alone").code == 0


def test_a_number_of_nodes_that_cannot_share_the_batch_is_refused_while_the_run_goes_on(
    field: Field,
) -> None:
    settings = (*(each for each in ELASTIC if "_nodes=" not in each), "train.batch_size=2")
    begun = field.launch("even", "--nodes", 1, "--detach", settings=settings)
    assert begun.code == 0, begun.text
    field.await_step("even", 2)
    refused = field.invoke("train.scale", "--name", "even", "--nodes", 2)
    assert refused.code == 5 and "is not a multiple of device_batch_size 2 x" in refused.text
    seen = field.invoke("train.status", "--name", "even", "--json").data
    assert (seen["state"], seen["nodes"]) == ("running", {"node1": "running"})
    field.await_step("even", seen["step"] + 2)
    assert field.invoke("train.stop", "--name", "even").code == 0


def _begin(field: Field, name: str) -> subprocess.Popen[str]:
    return field.begin(name, "--nodes", 2, "--launcher", "torchrun", settings=ELASTIC)


def _await_checkpoint(field: Field, name: str, running: subprocess.Popen[str]) -> None:
    whole = field.folder(name) / "output" / "checkpoints" / "step-00000005" / "complete.json"
    field.await_that(whole.exists, "the first checkpoint", running)


def _printed(field: Field, name: str, host: str) -> list[list[int]]:
    """The steps that a node's log tells of, one list for each time the ranks were started."""
    lives: list[list[int]] = [[]]
    for line in (field.folder(name) / "nodes" / host / "log").read_text().splitlines():
        if "resuming from" in line:
            lives.append([])
        elif found := re.match(r"\[0\] step (\d+)/", line):
            lives[-1].append(int(found[1]))
    return lives


def _stop(field: Field, name: str, running: subprocess.Popen[str]) -> str:
    """End a run; what was said by whoever followed it."""
    ended = field.invoke("train.stop", "--name", name)
    assert ended.code == 0, ended.text
    out, err = running.communicate(timeout=60)
    assert running.returncode == 103, out + err
    assert field.processes(name) == []
    return err


def _await_ranks(field: Field, name: str, count: int) -> None:
    def ranks() -> set[int]:
        found = set()
        for rank in range(3):
            try:
                field.rank(name, rank)
                found.add(rank)
            except StopIteration:
                pass
        return found

    field.await_that(lambda: ranks() == set(range(count)), f"{count} ranks of {name}", seconds=60)
