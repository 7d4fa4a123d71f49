"""Fault drills on a cluster: a node is lost, a pod is killed for memory, the operator restarts or
goes, the API is away, a spot machine is taken back. The run finishes with the losses of a run that
nothing happened to, and nothing of it is left.

One cluster is shared, with a node to spare.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playrunner.sandbox.kube.operators.installed import TRAINING_OPERATOR
from tests.support.launch.cluster import ClusterSite, cluster_site
from tests.support.launch.drill import SETTINGS, STEPS, Drill
from tests.support.launch.site import PACE


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


def test_a_run_whose_node_is_lost_goes_on_elsewhere_and_tells_what_was_lost(
    drill: Drill, expected: dict[int, float]
) -> None:
    running = drill.begin("noded", "job")
    lost = str(drill.pods("noded")[-1]["spec"]["nodeName"])
    drill.steer("DELETE", f"nodes/{lost}")
    said = drill.end("noded", running, expected)
    assert 0 <= said["steps_lost"] < STEPS and said["setbacks"] >= 1


def test_a_pod_killed_for_memory_comes_back(drill: Drill, expected: dict[int, float]) -> None:
    running = drill.begin("hungry", "pytorchjob")
    drill.steer("POST", f"pods/default/{drill.pods('hungry')[-1]['metadata']['name']}/oom", {})
    drill.end("hungry", running, expected)


def test_an_operator_that_restarts_and_an_api_that_is_away_do_not_disturb_it(
    drill: Drill, expected: dict[int, float]
) -> None:
    running = drill.begin("steady", "pytorchjob")
    api = drill.cluster.api
    for pod in api.get("/api/v1/namespaces/kubeflow/pods")["items"]:
        api.call("DELETE", f"/api/v1/namespaces/kubeflow/pods/{pod['metadata']['name']}")
    api.call("POST", "/_sandbox/outage", {"seconds": 20})
    said = drill.end("steady", running, expected)
    assert said["steps_lost"] == 0


def test_a_spot_machine_that_is_taken_back_is_left_in_time(
    drill: Drill, expected: dict[int, float]
) -> None:
    running = drill.begin("spotted", "job")
    node = str(drill.pods("spotted")[-1]["spec"]["nodeName"])
    drill.steer("POST", f"nodes/{node}", {"spot_notice_seconds": 40})
    drill.end("spotted", running, expected)
    drill.cluster.await_that(
        lambda: node not in drill.ready(), "the machine's end"
    )  # it may outlive the run


LOST_DEVICE = "NVRM: Xid (PCI:0000:10:1c): 79, GPU has fallen off the bus."


def test_a_node_whose_device_fails_twice_is_put_aside_where_the_inventory_says_so_and_a_spare_joins(
    drill: Drill, expected: dict[int, float]
) -> None:
    drill.cluster.say(train_quarantine="cordon 2h")
    running = drill.begin("faulty", "pytorchjob")
    pod = drill.pods("faulty")[-1]
    name, node = str(pod["metadata"]["name"]), str(pod["spec"]["nodeName"])
    (spare,) = set(drill.ready()) - set(drill.nodes("faulty"))
    for before in (0, 1):
        drill.strike(name, before, running, LOST_DEVICE)
    drill.cluster.await_that(lambda: spare in drill.nodes("faulty"), "the spare", running)
    drill.end("faulty", running, expected)
    drill.cluster.say()
    listed = _quarantined(drill)
    assert list(listed) == [node]
    assert f"a fault of its device under faulty: {LOST_DEVICE}" in listed[node]["reason"]
    released = drill.cluster.invoke(
        "nodes.release", "--all", "--inventory", drill.cluster.inventory
    )
    assert (released.code, f"released: {node}" in released.out) == (0, True), released.text


@pytest.mark.parametrize(
    ("name", "line"),
    [("hungry-again", ""), ("unimportable", "[0] ModuleNotFoundError: No module named 'torch'")],
)
def test_a_users_error_puts_no_node_aside_even_where_the_inventory_lets_nodes_be_cordoned(
    drill: Drill, expected: dict[int, float], name: str, line: str
) -> None:
    drill.cluster.say(train_quarantine="cordon")
    running = drill.begin(name, "pytorchjob")
    pod = str(drill.pods(name)[-1]["metadata"]["name"])
    for before in (0, 1, 2):
        drill.strike(pod, before, running, line)
    drill.end(name, running, expected)
    drill.cluster.say()
    assert _quarantined(drill) == {}


def test_a_bad_device_under_a_run_that_nobody_follows_is_named_with_the_way_out(
    drill: Drill,
) -> None:
    cluster = drill.cluster
    cluster.install("pytorchjob")
    endless = ("train.steps=100000", PACE, "train.log.every=1", "train.evaluate.batches=1")
    assert (
        cluster.launch(
            "alone", "--nodes", 2, "--launcher", "pytorchjob", "--detach", settings=endless
        ).code
        == 0
    )
    cluster.await_that(lambda: len(drill.pods("alone")) == 2, "its pods")
    pod = drill.pods("alone")[-1]["metadata"]["name"]
    for before in (0, 1):
        drill.strike(pod, before, line=LOST_DEVICE)
    cluster.await_that(lambda: drill.runs(pod, 2), "its third start")
    node = str(
        next(
            one["spec"]["nodeName"] for one in drill.pods("alone") if one["metadata"]["name"] == pod
        )
    )
    (spare,) = set(drill.ready()) - set(drill.nodes("alone"))
    told = cluster.ask("train.status", "--name", "alone")
    assert f"{node}: a fault of its device under alone: {LOST_DEVICE}" in told.out, told.text
    assert (
        f"invoke nodes.quarantine {node}" in told.out
        and f"kubectl delete pod -n default {pod}" in told.out
    )
    assert [one["node"] for one in cluster.status("alone")["suspects"]] == [node]
    why = cluster.ask("train.why", "--name", "alone")
    assert f"the device of {node} is at fault: {LOST_DEVICE}" in why.out, why.text

    assert cluster.invoke("nodes.quarantine", node, "--inventory", cluster.inventory).code == 0
    cluster.api.call("DELETE", f"/api/v1/namespaces/default/pods/{pod}")
    cluster.await_that(lambda: spare in drill.nodes("alone"), "the spare")
    assert cluster.status("alone")["suspects"] == []
    drill.leave("alone")
    drill.release_all()


def _quarantined(drill: Drill) -> dict[str, dict[str, str]]:
    listed = drill.cluster.ask("nodes.list", "--json").data["nodes"]
    return {one["name"]: one["quarantine"] for one in listed if one["quarantine"]}


def test_a_run_whose_operator_goes_for_good_ends_as_its_pods_did(
    drill: Drill, expected: dict[int, float]
) -> None:
    drill.cluster.say(train_patience_seconds=3)
    running = drill.begin("orphaned", "pytorchjob")
    with drill.without(TRAINING_OPERATOR):
        drill.end("orphaned", running, expected)
