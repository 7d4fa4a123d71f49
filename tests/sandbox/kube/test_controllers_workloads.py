"""Deployments, StatefulSets, DaemonSets, Jobs and services come to life, beside the pretend API and
a real one."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.kube.watch.readiness import readiness_of
from playrunner.sandbox import state
from tests.support.kube.moving import Cluster, Object
from tests.support.until import until

FOR_EVER = ["sleep", "100000"]


def _ready(cluster: Cluster, plural: str, name: str) -> Object:
    """An object of this kind, once our own runner would call it ready."""
    kind = {
        "deployments": "Deployment",
        "daemonsets": "DaemonSet",
        "statefulsets": "StatefulSet",
        "jobs": "Job",
    }[plural]
    return until(
        lambda: {"kind": kind, **(cluster.get(plural, name) or {})},
        lambda one: readiness_of(one).ready,
    )


def _processes(cluster: Cluster) -> int:
    """How many processes of this test's pods run on this machine."""
    return sum(1 for command in state.commands().values() if cluster.namespace in command)


def test_a_deployment_gets_its_pods_and_changes_them_with_its_template(either: Cluster) -> None:
    either.create("deployments", "web", spec={"replicas": 2, **either.workload(FOR_EVER)})
    _ready(either, "deployments", "web")
    first = {pod["metadata"]["name"] for pod in either.pods()}
    either.change(
        "deployments",
        "web",
        {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}},
    )
    _ready(either, "deployments", "web")
    pods = until(lambda: either.pods(), lambda pods: len(pods) == 2)
    assert first.isdisjoint(pod["metadata"]["name"] for pod in pods)
    assert all(pod["metadata"]["annotations"]["version"] == "2" for pod in pods)


def test_what_is_deleted_takes_its_pods_and_their_processes_along(either: Cluster) -> None:
    command = ["sh", "-c", f"true {either.namespace}; sleep 100000 & wait"]
    either.create("deployments", "web", spec={"replicas": 2, **either.workload(command)})
    _ready(either, "deployments", "web")
    assert _processes(either) >= 2
    either.delete("deployments", "web")
    until(lambda: (either.pods(), _processes(either)), lambda left: left == ([], 0))


def test_a_namespace_is_emptied_and_goes(either: Cluster) -> None:
    either.create("deployments", "web", spec={"replicas": 1, **either.workload(FOR_EVER)})
    either.create(
        "services", "web", spec={"selector": {"app": either.namespace}, "ports": [{"port": 80}]}
    )
    _ready(either, "deployments", "web")
    either.api.ok("DELETE", f"/api/v1/namespaces/{either.namespace}")
    until(
        lambda: either.api.call("GET", f"/api/v1/namespaces/{either.namespace}").code,
        lambda code: code == 404,
    )


def test_a_deployment_that_never_becomes_ready_says_so_after_its_time(cluster: Cluster) -> None:
    probe = {"readinessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": 1}}
    spec = {
        "replicas": 1,
        "progressDeadlineSeconds": 1,
        **cluster.workload(FOR_EVER, container=probe),
    }
    cluster.create("deployments", "web", spec=spec)
    broken = until(lambda: {"kind": "Deployment", **(cluster.get("deployments", "web") or {})},
                   lambda one: bool(readiness_of(one).broken))  # fmt: skip
    assert "ProgressDeadlineExceeded" in {one["reason"] for one in broken["status"]["conditions"]}


def test_a_stateful_set_starts_in_order_with_claims_that_stay(either: Cluster) -> None:
    either.create(
        "storageclasses", f"local-{either.namespace}", provisioner="local.sandbox.playrunner"
    )
    wish = {"storageClassName": f"local-{either.namespace}", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
    mount = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    keep = ["sh", "-c", "hostname >> /data/who; sleep 100000"]
    spec = {"replicas": 2, "serviceName": "st", **either.workload(keep, container=mount),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wish}]}  # fmt: skip
    either.create("statefulsets", "st", spec=spec)
    _ready(either, "statefulsets", "st")
    began = {pod["metadata"]["name"]: pod["status"]["startTime"] for pod in either.pods()}
    assert set(began) == {"st-0", "st-1"} and began["st-0"] <= began["st-1"]
    either.change("statefulsets", "st", {"spec": {"replicas": 1}})
    until(
        lambda: [pod["metadata"]["name"] for pod in either.pods()], lambda names: names == ["st-0"]
    )
    kept = ("exec", "st-0", "--", "cat", "/data/who")
    until(lambda: either.kubectl(*kept).stdout, lambda text: text == "st-0\n")
    either.delete("pods", "st-0")
    until(lambda: either.kubectl(*kept).stdout, lambda text: text == "st-0\nst-0\n")
    assert len(either.all("persistentvolumeclaims")) == 2
    either.delete("storageclasses", f"local-{either.namespace}")


def test_a_daemon_set_has_a_pod_on_each_node_that_fits_and_zero_nodes_are_fine(
    either: Cluster,
) -> None:
    either.create("daemonsets", "each", spec=either.workload(FOR_EVER, **either.here()))
    empty = _ready(either, "daemonsets", "each")
    assert (empty["status"]["desiredNumberScheduled"], empty["status"].get("numberReady", 0)) == (
        0,
        0,
    )
    nodes = {either.node(), either.node()}
    until(
        lambda: {pod["spec"].get("nodeName") for pod in either.pods()}, lambda found: found == nodes
    )
    until(
        lambda: (either.get("daemonsets", "each") or {})["status"].get("numberAvailable"),
        lambda count: count == 2,
    )
    either.control("DELETE", f"nodes/{sorted(nodes)[0]}")
    until(lambda: len(either.pods()), lambda count: count == 1)


def _job(command: str, **spec: Any) -> Object:
    policy = spec.pop("restartPolicy", "Never")
    container = {"name": "main", "image": "any", "command": ["sh", "-c", command]}
    return {"template": {"spec": {"restartPolicy": policy, "containers": [container]}}, **spec}


def _condition(cluster: Cluster, name: str, kind: str) -> Object:
    job = until(
        lambda: cluster.get("jobs", name) or {},
        lambda job: any(
            one["type"] == kind and one["status"] == "True"
            for one in job.get("status", {}).get("conditions") or ()
        ),
    )
    return next(one for one in job["status"]["conditions"] if one["type"] == kind)


def test_a_job_runs_until_enough_have_succeeded(either: Cluster) -> None:
    either.create("jobs", "count", spec=_job("echo done", completions=3, parallelism=2))
    _ready(either, "jobs", "count")
    status = (either.get("jobs", "count") or {})["status"]
    assert status["succeeded"] == 3 and status["completionTime"] and not status.get("active")


@pytest.mark.parametrize(
    ("command", "announced", "end"),
    [("true", "SuccessCriteriaMet", "Complete"), ("false", "FailureTarget", "Failed")],
)
def test_the_end_of_a_job_is_announced_before_it_is_reported(
    either: Cluster, command: str, announced: str, end: str
) -> None:
    created = either.create("jobs", "ends", spec=_job(command, backoffLimit=0))
    _condition(either, "ends", end)
    seen: list[list[str]] = []
    since = created["metadata"]["resourceVersion"]
    for event in either.api.watch(either.path("jobs"), resourceVersion=since):
        conditions = (event["object"].get("status") or {}).get("conditions") or []
        seen.append([one["type"] for one in conditions])
        if end in seen[-1]:
            break
    assert [kinds for kinds in seen if kinds] == [[announced], [announced, end]]


def test_a_job_fails_after_its_backoff_limit(either: Cluster) -> None:
    either.create("jobs", "fails", spec=_job("exit 3", backoffLimit=1))
    assert _condition(either, "fails", "Failed")["reason"] == "BackoffLimitExceeded"
    assert (either.get("jobs", "fails") or {})["status"]["failed"] == 2


def test_an_indexed_job_gives_each_pod_its_number_and_host_name(cluster: Cluster) -> None:
    spec = _job(
        "echo $JOB_COMPLETION_INDEX $(hostname)",
        completions=3,
        parallelism=3,
        completionMode="Indexed",
    )
    cluster.create("jobs", "numbered", spec=spec)
    _ready(cluster, "jobs", "numbered")
    said = sorted(cluster.log(pod["metadata"]["name"]) for pod in cluster.pods())
    assert said == ["0 numbered-0\n", "1 numbered-1\n", "2 numbered-2\n"]
    assert (cluster.get("jobs", "numbered") or {})["status"]["completedIndexes"] == "0-2"


def test_a_job_is_ended_when_its_time_is_over(either: Cluster) -> None:
    either.create("jobs", "slow", spec=_job("sleep 100000", activeDeadlineSeconds=1))
    assert _condition(either, "slow", "Failed")["reason"] == "DeadlineExceeded"
    until(either.pods, lambda left: left == [])


def test_a_job_that_is_over_is_taken_away_when_it_says_so(cluster: Cluster) -> None:
    cluster.create("jobs", "quick", spec=_job("true", ttlSecondsAfterFinished=1))
    until(lambda: (cluster.get("jobs", "quick"), cluster.pods()), lambda left: left == (None, []))


def test_a_failure_policy_ends_a_job_at_once_or_does_not_count(cluster: Cluster) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    cluster.create(
        "jobs", "strict", spec=_job("exit 42", backoffLimit=5, podFailurePolicy={"rules": [rule]})
    )
    assert _condition(cluster, "strict", "Failed")["reason"] == "PodFailurePolicy"
    assert (cluster.get("jobs", "strict") or {})["status"]["failed"] == 1


def test_a_suspended_job_has_no_pods_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.create("jobs", "later", spec=_job("true", suspend=True))
    _condition(cluster, "later", "Suspended")
    assert cluster.pods() == []
    cluster.change("jobs", "later", {"spec": {"suspend": False}})
    _ready(cluster, "jobs", "later")


def test_a_service_has_those_pods_behind_it_that_are_ready(either: Cluster) -> None:
    listen = (
        "import os, socket, time; time.sleep(1); s = socket.create_server((os.environ['IP'],"
        " 7000)); time.sleep(1e5)"
    )
    serve = ["python", "-c", listen]
    address = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    parts = {"env": [address], "readinessProbe": {"tcpSocket": {"port": 7000}}}
    either.create(
        "services", "web", spec={"selector": {"app": either.namespace}, "ports": [{"port": 7000}]}
    )
    either.create(
        "deployments", "web", spec={"replicas": 1, **either.workload(serve, container=parts)}
    )
    until(
        lambda: (either.get("endpoints", "web") or {}).get("subsets") or [{}],
        lambda subsets: "notReadyAddresses" in subsets[0] or "addresses" in subsets[0],
    )
    _ready(either, "deployments", "web")
    subset = until(
        lambda: ((either.get("endpoints", "web") or {}).get("subsets") or [{}])[0],
        lambda one: "addresses" in one,
    )
    assert [one["targetRef"]["name"] for one in subset["addresses"]] == [
        either.pods()[0]["metadata"]["name"]
    ]
    ask = "import socket; socket.create_connection(('web', 7000), 20); print('answered')"
    assert either.said("client", "python", "-c", ask) == "answered\n"
