"""Fault drills on a cluster: a node is lost, a pod is killed for memory, the operator restarts, the API is away, a spot machine
is taken back. The run finishes with the losses of a run that nothing happened to, and nothing of it is left.

One cluster is shared, with a node to spare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.kube.controllers.steering import steer
from tests import runner
from tests.launch.cluster import ClusterSite, cluster_site
from tests.launch.site import PATIENCE_SECONDS

STEPS = 80
BEFORE = 12  # so many steps are done when it strikes
SETTINGS = (f"train.steps={STEPS}", "train.log.every=1", "train.checkpoint.every=5", "train.checkpoint.keep=2",
            "train.evaluate.batches=1")


class Drill:
    """A run of two nodes among three, something that strikes it, and how it ends."""

    def __init__(self, cluster: ClusterSite) -> None:
        self.cluster = cluster

    def steer(self, method: str, path: str, body: Any = None) -> Any:
        return steer(self.cluster.state / "sandbox" / "kube", method, path, body)

    def spare(self) -> None:
        """As many nodes as at first."""
        self.steer("DELETE", "nodes")
        self.steer("POST", "nodes", {"name": "spare", "cpu": 4})
        self.cluster.await_that(lambda: len(self.ready()) >= 3, "three nodes")

    def ready(self) -> list[str]:
        nodes = self.cluster.api.get("/api/v1/nodes")["items"]
        return [node["metadata"]["name"] for node in nodes if any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or ())]

    def pods(self, name: str) -> list[dict[str, Any]]:
        found = self.cluster.api.get(f"/api/v1/namespaces/default/pods?labelSelector=playrunner.io/training={name}")["items"]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def nodes(self, name: str) -> list[str]:
        """Where its pods are."""
        return [str(pod["spec"].get("nodeName")) for pod in self.pods(name)]

    def runs(self, pod: str, restarts: int) -> bool:
        """Whether its container runs, after so many restarts."""
        found = self.cluster.api.get(f"/api/v1/namespaces/default/pods/{pod}") or {}
        return any("running" in one["state"] and one["restartCount"] == restarts
                   for one in (found.get("status") or {}).get("containerStatuses") or ())

    def begin(self, name: str, launcher: str) -> Any:
        self.cluster.install(launcher)
        running = self.cluster.begin(name, "--nodes", 2, "--launcher", launcher, "--json", settings=SETTINGS)
        self.cluster.await_that(lambda: len(self.cluster.recorded(name)) >= BEFORE, f"{BEFORE} steps of {name}", running)
        return running

    def end(self, name: str, running: Any, expected: dict[int, float]) -> dict[str, Any]:
        """It has finished, with the right losses, and goes without a trace; what it said."""
        done = runner.finish(running, PATIENCE_SECONDS)
        assert done.code == 0, done.text
        losses = self.cluster.recorded(name)
        assert losses == pytest.approx(expected, abs=1e-4)
        assert self.cluster.ask("train.stop", "--name", name).code == 0
        self.cluster.await_that(lambda: not any(name in thing for thing in self.cluster.things()), "the end of all it had made")
        said: dict[str, Any] = done.data
        return said


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterSite]:
    with cluster_site(tmp_path_factory.mktemp("faults")) as made:
        if made.api.flavour == "real":
            pytest.skip("a real API server takes no orders")
        yield made


@pytest.fixture
def drill(cluster: ClusterSite) -> Drill:
    made = Drill(cluster)
    made.spare()
    return made


@pytest.fixture(scope="module")
def expected(cluster: ClusterSite) -> dict[int, float]:
    """The losses of a run that nothing happens to."""
    done = cluster.launch("undisturbed", "--nodes", 2, settings=SETTINGS)
    assert done.code == 0, done.text
    assert cluster.ask("train.stop", "--name", "undisturbed").code == 0
    return cluster.recorded("undisturbed")


def test_a_run_whose_node_is_lost_goes_on_elsewhere_and_tells_what_was_lost(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("noded", "job")
    lost = str(drill.pods("noded")[-1]["spec"]["nodeName"])
    drill.steer("DELETE", f"nodes/{lost}")
    said = drill.end("noded", running, expected)
    assert 0 <= said["steps_lost"] < STEPS and said["setbacks"] >= 1


def test_a_pod_killed_for_memory_comes_back(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("hungry", "pytorchjob")
    drill.steer("POST", f"pods/default/{drill.pods('hungry')[-1]['metadata']['name']}/oom", {})
    drill.end("hungry", running, expected)


def test_an_operator_that_restarts_and_an_api_that_is_away_do_not_disturb_it(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("steady", "pytorchjob")
    api = drill.cluster.api
    for pod in api.get("/api/v1/namespaces/kubeflow/pods")["items"]:
        api.call("DELETE", f"/api/v1/namespaces/kubeflow/pods/{pod['metadata']['name']}")
    api.call("POST", "/_sandbox/outage", {"seconds": 20})
    said = drill.end("steady", running, expected)
    assert said["steps_lost"] == 0


def test_a_spot_machine_that_is_taken_back_is_left_in_time(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("spotted", "job")
    node = str(drill.pods("spotted")[-1]["spec"]["nodeName"])
    drill.steer("POST", f"nodes/{node}", {"spot_notice_seconds": 40})
    drill.end("spotted", running, expected)


def test_a_node_that_fails_twice_is_put_aside_and_a_spare_joins(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("faulty", "pytorchjob")
    pod = drill.pods("faulty")[-1]
    name, node = str(pod["metadata"]["name"]), str(pod["spec"]["nodeName"])
    (spare,) = set(drill.ready()) - set(drill.nodes("faulty"))
    for before in (0, 1):
        drill.cluster.await_that(lambda times=before: drill.runs(name, times), f"{name} after {before} restarts", running)
        drill.steer("POST", f"pods/default/{name}/oom", {})
    drill.cluster.await_that(lambda: spare in drill.nodes("faulty"), "the spare", running)
    drill.end("faulty", running, expected)
    listed = {one["name"]: one["quarantine"] for one in drill.cluster.ask("nodes.list", "--json").data["nodes"]}
    assert "faulty failed on it 2 times, last: OOMKilled" in listed[node]["reason"]
    assert [other for other, entry in listed.items() if entry] == [node]
    released = drill.cluster.invoke("nodes.release", node, "--inventory", drill.cluster.inventory)
    assert (released.code, f"{node} may be used again" in released.out) == (0, True), released.text
