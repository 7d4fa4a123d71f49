"""Launches on a cluster prove their network first: a node that cannot be reached is named and put
aside, and another joins.

Faults are injected by routes, so they need root. One cluster is shared, with one node more than the
launches want.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from playrunner.sandbox.kube.controllers.control import control_request
from tests.support import runner
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.site import PATIENCE_SECONDS

WANTED = 3
SHORT = (
    "train.steps=3",
    "train.log.every=1",
    "train.checkpoint.every=3",
    "train.evaluate.batches=1",
    "train.batch_size=6",
    "train.device_batch_size=1",
    "train.schedule.warmup_steps=2",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("gate")) as made:
        if made.api.flavour == "real":
            pytest.skip("a real API server takes no orders")
        while len(_nodes(made)) <= WANTED:
            control_request(
                made.state / "sandbox" / "kube",
                "POST",
                "nodes",
                {"name": f"more-{len(_nodes(made))}", "cpu": 4},
            )
        made.await_that(lambda: len(_ready(made)) > WANTED, "the nodes")
        yield made


def test_a_node_that_pods_cannot_reach_is_put_aside_and_the_job_goes_on_with_the_spare(
    cluster: ClusterSite,
) -> None:
    _needs_routes()
    running = cluster.begin("proved", "--nodes", WANTED, settings=SHORT)
    bad = _victim(cluster, "proved", running)
    with _unreachable(bad["status"]["podIP"]):
        cluster.await_that(
            lambda: _life(cluster, "proved") not in ("", _run_id(bad)), "the job made anew", running
        )
        done = runner.finish(running, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    node = bad["spec"]["nodeName"]
    assert f"the network check failed: {node} does not answer" in done.err
    assert "proved continues elsewhere" in done.err and "network: 3 nodes answer" in done.err
    assert set(cluster.recorded("proved")) == {1, 2, 3}
    assert node not in {pod["spec"]["nodeName"] for pod in _pods(cluster, "proved")}
    assert f"left out of this run: {node}" in done.err and f"nodes.quarantine {node}" in done.err
    listed = cluster.ask("nodes.list", "--json").data["nodes"]
    assert not any(one["quarantine"] for one in listed), "others may still use it"
    kept = {path.name for path in cluster.record("proved").iterdir()}
    assert {"gate.json", "gate.txt", "gate.svg"} <= kept


def test_a_bandwidth_that_is_too_small_is_traced_to_the_node_and_measured_again_without_it(
    cluster: ClusterSite,
) -> None:
    _needs_routes()
    cluster.install("pytorchjob")
    cluster.say(
        train_expected_bus_gbytes=1e6,
        train_pod_python=sys.executable,
        train_quarantine="taint",
    )
    try:
        running = cluster.start(
            "nccl-image.bench",
            "--inventory",
            cluster.inventory,
            "--image",
            "cpu:1",
            "--job",
            "pytorchjob",
            "--nodes",
            WANTED,
            "--begin",
            "4K",
            "--end",
            "16K",
            "--repeats",
            2,
            "--json",
        )
        bad = _victim(cluster, "network", running)
        with _unreachable(bad["status"]["podIP"]):
            cluster.await_that(
                lambda: not _pods(cluster, "network"), "the end of the search", running
            )
            # any bandwidth will do from now on
            cluster.say(train_pod_python=sys.executable, train_quarantine="taint")
            measured = runner.finish(running, PATIENCE_SECONDS)
    finally:
        cluster.say()
    node = bad["spec"]["nodeName"]
    cluster.invoke("nodes.release", node, "--inventory", cluster.inventory)
    assert measured.code == 0, measured.text
    assert f"quarantined: {node}" in measured.err
    assert len(measured.data["devices"]) == WANTED and node not in measured.data["devices"]
    cluster.await_that(
        lambda: not any("network" in thing or "bandwidth" in thing for thing in cluster.things()),
        "nothing left",
    )


def test_the_network_is_measured_by_itself_and_nothing_is_trained_or_left(
    cluster: ClusterSite,
) -> None:
    before = cluster.things()
    measured = cluster.ask("train.bench", "--nodes", 2, "--json")
    assert measured.code == 0, measured.text
    assert (
        len(measured.data["result"]["pairs"]) == 1
        and len(measured.data["result"]["all_reduce"]) == 4
    )
    assert measured.data["verdict"]["ok"]
    cluster.await_that(lambda: cluster.things() == before, "the end of all that it had made")
    assert not cluster.record("network").exists(), "it is no run"


def _needs_routes() -> None:
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("only root with iproute2 can make an address unreachable")


@contextmanager
def _unreachable(address: str) -> Iterator[None]:
    """Connections to it are refused, while its own processes can still listen there: the rule comes
    before the table of local addresses."""
    rules = (("1", "to", f"{address}/32", "prohibit"), ("2", "lookup", "local"))
    local = ("0", "lookup", "local")
    for rule in reversed(rules):
        _rule("add", *rule)
    _rule("del", *local)
    try:
        yield
    finally:
        _rule("add", *local)
        for rule in rules:
            _rule("del", *rule)


def _rule(change: str, preference: str, *words: str) -> None:
    subprocess.run(["ip", "rule", change, "pref", preference, *words], check=True)


def _victim(cluster: ClusterSite, name: str, running: subprocess.Popen[str]) -> dict[str, Any]:
    """A pod of the run at which nothing is hosted: neither the pods' meeting nor, its address being
    the lowest, rank 0."""
    cluster.await_that(
        lambda: sum("podIP" in pod["status"] for pod in _pods(cluster, name)) == WANTED,
        "pods",
        running,
    )
    ranked = sorted(_pods(cluster, name), key=lambda pod: str(pod["status"]["podIP"]))[1:]
    return next(pod for pod in ranked if not _is_first(pod))


def _is_first(pod: dict[str, Any]) -> bool:
    return (pod["metadata"].get("annotations") or {}).get(
        "batch.kubernetes.io/job-completion-index"
    ) == "0"


def _pods(cluster: ClusterSite, name: str) -> list[dict[str, Any]]:
    found = cluster.api.get(
        f"/api/v1/namespaces/default/pods?labelSelector=playrunner.io/training={name}"
    )["items"]
    return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]


def _life(cluster: ClusterSite, name: str) -> str:
    return next((_run_id(pod) for pod in _pods(cluster, name)), "")


def _run_id(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"]["playrunner.io/training-id"])


def _nodes(cluster: ClusterSite) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.api.get("/api/v1/nodes")["items"]
    return found


def _ready(cluster: ClusterSite) -> list[str]:
    return [
        node["metadata"]["name"]
        for node in _nodes(cluster)
        if any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in node["status"].get("conditions") or ()
        )
    ]
