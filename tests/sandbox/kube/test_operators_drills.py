"""Drills: a node is lost, a container takes too much memory, a spot instance is taken back; jobs of
every operator go on."""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from playrunner.sandbox.kube.controllers.control import control_request
from tests.support.kube.operator_jobs import Object, elastic_job, pytorch_job, volcano_job
from tests.support.kube.operators_stage import Cluster

LONG = "trap 'exit 0' TERM; sleep 600 & wait"
RESTART = [{"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"}]
_numbers = count(1)


@pytest.fixture
def spare(place: Cluster) -> Iterator[str]:
    """A node more, on which only what tolerates it runs."""
    name = f"spare-{next(_numbers)}"
    add_node(place, name)
    yield name
    control_request(place.folder, "DELETE", "nodes")  # undo earlier control requests
    place.awaited(lambda: place.get("v1", "nodes", name, "") is None, "its end")


def add_node(place: Cluster, name: str) -> None:
    taint = {"key": "drill", "value": name, "effect": "NoSchedule"}
    control_request(
        place.folder,
        "POST",
        "nodes",
        {"name": name, "cpu": 4, "labels": {"drill": name}, "taints": [taint]},
    )
    place.awaited(lambda: place.get("v1", "nodes", name, ""), "the node")


def preferring(template: Object, node: str) -> None:
    """Have a pod run on that node and no other."""
    template["spec"]["nodeSelector"] = {"drill": node}
    template["spec"]["tolerations"] = [{"key": "drill", "operator": "Exists"}]


def started_on(place: Cluster, pod: str) -> str:
    """The node on which a pod runs."""
    found = place.pods().get(pod) or {}
    return (
        str(found["spec"].get("nodeName", ""))
        if (found.get("status") or {}).get("phase") == "Running"
        else ""
    )


def taints_when_closed(place: Cluster, node: str, since: str) -> list[str]:
    """From what has happened since a version: the node itself may be gone by now."""
    chosen = {"resourceVersion": since, "fieldSelector": f"metadata.name={node}"}
    for event in place.client.watch("/api/v1/nodes", seconds=60, **chosen):
        if event["object"]["spec"].get("unschedulable"):
            return [one["key"] for one in event["object"]["spec"]["taints"]]
    return []


def test_pods_of_a_lost_node_wait_for_another_and_go_on(place: Cluster, spare: str) -> None:
    job = pytorch_job("kept", workers=1, script=LONG)
    preferring(job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"], spare)
    place.create(job)
    place.awaited(lambda: started_on(place, "kept-worker-0") == spare, "its start")
    uid = place.pods()["kept-worker-0"]["metadata"]["uid"]
    control_request(place.folder, "DELETE", f"nodes/{spare}")
    place.awaited(
        lambda: (
            place.pods().get("kept-worker-0", {}).get("metadata", {}).get("uid") not in (None, uid)
        ),
        "another pod",
    )
    assert not started_on(place, "kept-worker-0")
    add_node(place, spare)
    place.awaited(lambda: started_on(place, "kept-worker-0") == spare, "its second start")


def test_a_container_that_took_too_much_memory_is_started_again(place: Cluster) -> None:
    place.create(elastic_job("hungry", workers=1, script=LONG))
    place.create(pytorch_job("greedy", workers=1, script=LONG))
    for pod in ("hungry-worker-0", "greedy-worker-0"):
        place.awaited(lambda pod=pod: started_on(place, pod), f"the start of {pod}")  # type: ignore[misc]
        control_request(place.folder, "POST", f"pods/{place.namespace}/{pod}/oom")
    # One is restarted by its node, the other one, whose exit code is for the operator to judge, by
    # the operator.
    restarts = place.awaited(
        lambda: [
            one
            for one in place.pods()["greedy-worker-0"]["status"].get("containerStatuses", ())
            if one["restartCount"] == 1 and "running" in one["state"]
        ],
        "its restart",
    )
    assert (
        restarts[0]["lastState"]["terminated"].items()
        >= {
            "reason": "OOMKilled",
            "exitCode": 137,
        }.items()
    )
    place.awaited(lambda: "ElasticJobRestarting" in place.events("hungry"), "its restart")
    place.awaited(lambda: started_on(place, "hungry-worker-0"), "its second start")


def test_a_spot_notice_closes_and_empties_the_node_and_the_gang_starts_anew(
    place: Cluster, spare: str, tmp_path: Path
) -> None:
    began, asked = tmp_path / "began", tmp_path / "asked-to-end"
    script = f"trap 'touch {asked}; exit 0' TERM; touch {began}; sleep 600 & wait"
    job = volcano_job("spot", script=script, policies=RESTART)
    for task in job["spec"]["tasks"]:
        task["template"]["spec"]["tolerations"] = [{"key": "drill", "operator": "Exists"}]
    job["spec"]["tasks"][0]["template"]["spec"]["nodeSelector"] = {"drill": spare}
    place.create(job)
    place.awaited(lambda: place.phase("spot") == "Running", "running")
    assert started_on(place, "spot-role-0-0") == spare
    place.awaited(began.exists, "the start of its processes")
    version = (place.get("v1", "nodes", spare, "") or {})["metadata"]["resourceVersion"]
    control_request(place.folder, "POST", f"nodes/{spare}", {"spot_notice_seconds": 3})
    assert "aws-node-termination-handler/spot-itn" in taints_when_closed(place, spare, version)
    place.awaited(asked.exists, "the word to its processes")  # with the time to say goodbye
    place.awaited(lambda: place.get("v1", "nodes", spare, "") is None, "the end of the node")
    place.awaited(lambda: place.phase("spot") == "Pending", "another start that waits for a node")
    add_node(place, spare)
    place.awaited(lambda: place.phase("spot") == "Running", "running again")
    status = (place.get("batch.volcano.sh/v1alpha1", "jobs", "spot") or {})["status"]
    assert (status["retryCount"], status["version"]) == (1, 1)


def test_an_evicted_pod_is_replaced(place: Cluster) -> None:
    place.create(pytorch_job("pushed", workers=1, script=LONG))
    place.awaited(lambda: started_on(place, "pushed-worker-0"), "its start")
    uid = place.pods()["pushed-worker-0"]["metadata"]["uid"]
    control_request(place.folder, "POST", f"pods/{place.namespace}/pushed-worker-0/evict")
    place.awaited(lambda: "PyTorchJobRestarting" in place.events("pushed"), "the operator's word")
    place.awaited(lambda: started_on(place, "pushed-worker-0"), "its second start")
    assert place.pods()["pushed-worker-0"]["metadata"]["uid"] != uid


@pytest.mark.skipif(
    os.environ.get("PLAYRUNNER_TEST_KUBE") == "real",
    reason="only the pretend API goes away when it is told to",
)
def test_an_api_that_was_away_finds_the_jobs_further_on(place: Cluster, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"while ! test -e {go}; do sleep 0.1; done"
    place.create(pytorch_job("one", workers=1, script=script))
    place.create(elastic_job("two", workers=1, script=script))
    place.create(volcano_job("three", tasks={"only": {}}, script=script))
    for pod in ("one-worker-0", "two-worker-0", "three-only-0"):
        place.awaited(lambda pod=pod: started_on(place, pod), f"the start of {pod}")  # type: ignore[misc]
    place.client.ok("POST", "/_sandbox/outage", {"seconds": 2})
    go.touch()

    def all_ended() -> bool:
        try:
            first = place.condition("kubeflow.org/v1", "pytorchjobs", "one")
            second = place.condition("elastic.pytorch.org/v1alpha1", "elasticjobs", "two")
            return (first, second, place.phase("three")) == ("Succeeded", "Succeeded", "Completed")
        except (OSError, http.client.HTTPException):
            return False  # it is still away

    place.awaited(all_ended, "the end of all three")
