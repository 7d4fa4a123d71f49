"""Where pods go, why some go nowhere, and what happens to them when a node does."""

from __future__ import annotations

from playrunner.kube.watch import reasons
from tests.support.kube.moving import Cluster, Object
from tests.support.until import until

FOR_EVER = ("sleep", "100000")
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.14.1"


def _why(cluster: Cluster, name: str) -> str:
    """What the scheduler says about a pod that has no node."""

    def message(pod: Object | None) -> str:
        conditions = (pod or {}).get("status", {}).get("conditions") or ()
        refused = [
            one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"
        ]
        return str(refused[0]["message"]) if refused else ""

    return message(until(lambda: cluster.get("pods", name), lambda pod: bool(message(pod))))


def _node_of(cluster: Cluster, name: str) -> str:
    pod = until(
        lambda: cluster.get("pods", name) or {},
        lambda pod: bool(pod.get("spec", {}).get("nodeName")),
    )
    return str(pod["spec"]["nodeName"])


def test_a_pod_that_fits_nowhere_says_why_in_words_that_the_runner_decodes(either: Cluster) -> None:
    either.node()
    either.pod(
        "greedy",
        *FOR_EVER,
        container={"resources": {"limits": {"nvidia.com/gpu": "1"}}},
        **either.here(),
    )
    why = _why(either, "greedy")
    assert why.startswith("0/") and "1 Insufficient nvidia.com/gpu" in why
    assert f"node(s) had untolerated taint {{only: {either.namespace}}}" not in why
    assert (
        until(lambda: either.reasons("greedy"), lambda told: "FailedScheduling" in told)[
            "FailedScheduling"
        ]
        == why
    )
    assert any("needs its device plugin" in text for text in reasons.scheduling(why))


def test_a_node_offers_devices_only_while_their_plugin_runs_on_it(either: Cluster) -> None:
    node = either.node(devices={"nvidia.com/gpu": 4})
    either.pod(
        "trains",
        *FOR_EVER,
        container={"resources": {"limits": {"nvidia.com/gpu": "4"}}},
        **either.here(),
    )
    _why(either, "trains")
    either.create(
        "daemonsets",
        "plugin",
        spec=either.workload([], container={"image": PLUGIN}, **either.here()),
    )
    either.phase("trains", "Running")
    either.pod(
        "second",
        *FOR_EVER,
        container={"resources": {"limits": {"nvidia.com/gpu": "1"}}},
        **either.here(),
    )
    assert "Insufficient nvidia.com/gpu" in _why(either, "second")
    either.delete("daemonsets", "plugin")
    until(
        lambda: (either.get("nodes", node) or {})["status"]["allocatable"],
        lambda offered: "nvidia.com/gpu" not in offered,
    )


def test_selectors_affinity_and_taints_are_minded(cluster: Cluster) -> None:
    first = cluster.node(labels={"only": cluster.namespace, "disk": "fast"})
    cluster.node(labels={"only": cluster.namespace, "disk": "slow"})
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast", "faster"]}]}
    required = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }
    cluster.pod("fast", *FOR_EVER, affinity=required, **cluster.here())
    assert _node_of(cluster, "fast") == first
    cluster.pod("nowhere", *FOR_EVER, nodeSelector={"disk": "fastest"})
    assert "node(s) didn't match Pod's node affinity/selector" in _why(cluster, "nowhere")
    cluster.pod("unwelcome", *FOR_EVER, nodeSelector={"only": cluster.namespace})
    assert f"2 node(s) had untolerated taint {{only: {cluster.namespace}}}" in _why(
        cluster, "unwelcome"
    )


def test_pods_that_repel_each_other_go_to_different_nodes(cluster: Cluster) -> None:
    nodes = {cluster.node(), cluster.node()}
    term = {
        "labelSelector": {"matchLabels": {"app": cluster.namespace}},
        "topologyKey": "kubernetes.io/hostname",
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(3):
        cluster.pod(
            f"p{number}",
            *FOR_EVER,
            labels={"app": cluster.namespace},
            affinity=apart,
            **cluster.here(),
        )
    placed = until(
        lambda: {pod["spec"].get("nodeName") for pod in cluster.pods()} - {None},
        lambda found: len(found) == 2,
    )
    assert placed == nodes
    left = until(
        lambda: [pod for pod in cluster.pods() if not pod["spec"].get("nodeName")],
        lambda pods: len(pods) == 1,
    )
    assert "2 node(s) didn't match pod anti-affinity rules" in _why(
        cluster, left[0]["metadata"]["name"]
    )


def test_a_cordoned_node_takes_no_more_pods(either: Cluster) -> None:
    node = either.node()
    assert either.kubectl("cordon", node).returncode == 0
    either.pod("late", *FOR_EVER, **either.here())
    assert "node(s) were unschedulable" in _why(either, "late")
    assert either.kubectl("uncordon", node).returncode == 0
    either.phase("late", "Running")


def test_a_taint_that_evicts_makes_pods_move(either: Cluster) -> None:
    first, second = either.node(), either.node()
    wish = either.workload(list(FOR_EVER), **either.here())
    either.create("deployments", "web", spec={"replicas": 1, **wish})
    pod = until(
        lambda: [one for one in either.pods() if one["status"]["phase"] == "Running"], bool
    )[0]
    there = pod["spec"]["nodeName"]
    assert either.kubectl("taint", "nodes", there, "spot=going:NoExecute").returncode == 0
    other = ({first, second} - {there}).pop()
    until(lambda: {(one["spec"].get("nodeName"), one["status"]["phase"]) for one in either.pods()},
          lambda found: found == {(other, "Running")})  # fmt: skip


def test_what_ran_on_a_node_that_is_lost_runs_elsewhere(either: Cluster) -> None:
    first, second = either.node(), either.node()
    either.create(
        "deployments",
        "web",
        spec={"replicas": 1, **either.workload(list(FOR_EVER), **either.here())},
    )
    pod = until(
        lambda: [one for one in either.pods() if one["status"]["phase"] == "Running"], bool
    )[0]
    either.control("DELETE", f"nodes/{pod['spec']['nodeName']}")
    other = ({first, second} - {pod["spec"]["nodeName"]}).pop()
    until(lambda: {(one["spec"].get("nodeName"), one["status"]["phase"]) for one in either.pods()},
          lambda found: found == {(other, "Running")})  # fmt: skip
    until(lambda: either.get("nodes", pod["spec"]["nodeName"]), lambda node: node is None)


def test_a_node_that_does_not_answer_is_not_ready_until_it_is_back(cluster: Cluster) -> None:
    node = cluster.node()
    cluster.pod("stays", *FOR_EVER, restartPolicy="Always", **cluster.here(),
                container={"image": "any"}, labels={"app": "stays"})  # fmt: skip
    cluster.phase("stays", "Running")

    def ready() -> str:
        found = (cluster.get("nodes", node) or {})["status"]["conditions"]
        return next(str(one["status"]) for one in found if one["type"] == "Ready")

    cluster.control("POST", f"nodes/{node}", {"up": False})
    until(ready, lambda status: status == "Unknown")
    cluster.control("POST", f"nodes/{node}", {"up": True})
    until(ready, lambda status: status == "True")


def test_steering_something_that_is_not_there_says_what_is(cluster: Cluster) -> None:
    try:
        cluster.control("DELETE", "nodes/nobody")
    except ValueError as refusal:
        assert "there is no node nobody; there are: " in str(refusal)
    else:
        raise AssertionError("a node that is not there was removed")
