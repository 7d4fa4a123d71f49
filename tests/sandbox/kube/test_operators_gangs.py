"""Volcano in a cluster that moves: gangs, queues, plugins, policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playrunner.sandbox.kube.operators.installed import TRAINING_OPERATOR
from playrunner.sandbox.kube.schema.quantities import value_of
from tests.support.kube.operator_jobs import Object, pytorch_job, volcano_job
from tests.support.kube.operators_stage import IMAGES, Cluster

LONG = "trap 'exit 0' TERM; sleep 600 & wait"
SCHEDULING = "scheduling.volcano.sh/v1beta1"
RESTART = [{"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"}]


def asking(job: Object, **resources: Any) -> Object:
    """The job, each of its pods asking for so much."""
    amounts = {name: str(amount) for name, amount in resources.items()}
    for task in job["spec"]["tasks"]:
        task["template"]["spec"]["containers"][0]["resources"] = {
            "requests": amounts,
            "limits": amounts,
        }
    return job


def group_of(place: Cluster, job: str) -> Object:
    found = [
        one
        for one in place.list(SCHEDULING, "podgroups")
        if one["metadata"]["name"].startswith(f"{job}-")
    ]
    return found[0] if found else {}


def unschedulable(place: Cluster, job: str) -> str:
    conditions = (group_of(place, job).get("status") or {}).get("conditions") or [{}]
    return (
        str(conditions[-1].get("message", ""))
        if conditions[-1].get("type") == "Unschedulable"
        else ""
    )


def part_of_node(place: Cluster, percent: int) -> str:
    """So much of the processors of the smallest node."""
    cpus = min(
        value_of(one["status"]["allocatable"]["cpu"]) for one in place.list("v1", "nodes", "")
    )
    return f"{int(cpus * 10 * percent)}m"


def test_tasks_know_each_other_by_the_plugins(place: Cluster, tmp_path: Path) -> None:
    seen = tmp_path / "seen"  # they stay until they were looked at: a name goes with its pod
    script = (
        "echo index=$VC_TASK_INDEX hosts=$VC_ROLE_0_HOSTS,$VC_ROLE_1_HOSTS of=$VC_ROLE_1_NUM; cat"
        " /etc/volcano/role-0.host; echo; for i in $(seq 600); do getent hosts bert-role-0-0.bert"
        " && getent hosts bert-role-1-0.bert && break; sleep 0.1; done; getent hosts"
        f" bert-role-1-0.bert && echo found; while ! test -e {seen}; do sleep 0.1; done"
    )
    place.create(
        volcano_job(
            "bert", script=script, plugins={"svc": ["--publish-not-ready-addresses"], "env": []}
        )
    )
    place.awaited(lambda: place.phase("bert") == "Running", "running")
    assert place.get("networking.k8s.io/v1", "networkpolicies", "bert") is not None
    assert place.get("v1", "configmaps", "bert-svc") is not None
    place.awaited(
        lambda: all("found" in place.log(f"bert-role-{number}-0") for number in (0, 1)),
        "both to find each other",
    )
    seen.touch()
    place.awaited(lambda: place.phase("bert") == "Completed", "its end")
    said = place.log("bert-role-1-0")
    assert "index=0 hosts=bert-role-0-0.bert,bert-role-1-0.bert of=1" in said
    assert "bert-role-0-0.bert" in said.splitlines()
    assert "found" in said
    place.awaited(
        lambda: place.get("v1", "services", "bert") is None and not group_of(place, "bert"),
        "the end of what was its",
    )


def test_a_gang_is_placed_whole_or_not_at_all(place: Cluster) -> None:
    wish = {"resources": {"requests": {"cpu": part_of_node(place, 50)}}}
    spec = {
        "containers": [
            {"name": "main", "image": "trainer:1", "command": ["sh", "-c", LONG], **wish}
        ]
    }
    place.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "blocker"}, "spec": spec})
    place.awaited(
        lambda: (place.pods()["blocker"].get("status") or {}).get("phase") == "Running",
        "the blocker",
    )
    # One of the two would fit: on the other node.
    place.create(asking(volcano_job("gang"), cpu=part_of_node(place, 60)))
    place.awaited(
        lambda: unschedulable(place, "gang").startswith("2/2 tasks in gang unschedulable"),
        "the reason",
    )
    assert "Pending: 1 Unschedulable, 1 Schedulable" in unschedulable(place, "gang")
    gang = [one for name, one in place.pods().items() if name != "blocker"]
    assert [one["spec"].get("nodeName") for one in gang] == [None, None]
    told = place.awaited(lambda: place.events("gang-role-1-0"), "the pod's reason")
    assert "Insufficient cpu" in told["FailedScheduling"]
    assert place.phase("gang") == "Pending"
    place.delete("v1", "pods", "blocker", gracePeriodSeconds=0)
    place.awaited(lambda: place.phase("gang") == "Completed", "its turn")


def test_a_job_waits_in_its_queue_until_there_is_room(place: Cluster) -> None:
    queue = f"narrow-{place.namespace}"
    place.create({"apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": queue},
                  "spec": {"weight": 1, "capability": {"cpu": "200m"}}})  # fmt: skip
    place.create(asking(volcano_job("first", script=LONG, queue=queue), cpu="100m"))
    place.awaited(lambda: place.phase("first") == "Running", "the first")
    place.create(asking(volcano_job("second", tasks={"only": {}}, queue=queue), cpu="100m"))
    place.awaited(lambda: unschedulable(place, "second"), "the reason")
    told = place.awaited(
        lambda: place.events(group_of(place, "second")["metadata"]["name"]), "the event"
    )
    assert told["Unschedulable"] == "queue resource quota insufficient"
    assert group_of(place, "second")["status"]["phase"] == "Pending"
    assert not [name for name in place.pods() if name.startswith("second")]
    held = place.awaited(
        lambda: (
            (place.get(SCHEDULING, "queues", queue, "") or {}).get("status", {}).get("pending")
            and place.get(SCHEDULING, "queues", queue, "")
        ),
        "the queue's count",
    )["status"]
    assert (held["allocated"], held["running"], held["state"]) == ({"cpu": "200m"}, 1, "Open")
    place.delete("batch.volcano.sh/v1alpha1", "jobs", "first")
    place.awaited(lambda: place.phase("second") == "Completed", "its turn")
    place.delete(SCHEDULING, "queues", queue, "")


def test_a_job_that_asks_for_what_no_node_has_is_not_let_in(place: Cluster) -> None:
    place.create(asking(volcano_job("gpu"), **{"nvidia.com/gpu": 8}))
    name = place.awaited(
        lambda: unschedulable(place, "gpu") and group_of(place, "gpu"), "the reason"
    )["metadata"]["name"]
    assert (
        place.awaited(lambda: place.events(name), "the event")["Unschedulable"]
        == "resource in cluster is overused"
    )
    assert not [one for one in place.pods() if one.startswith("gpu")]


def test_a_failing_job_is_started_as_often_as_it_may(place: Cluster, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    place.create(
        volcano_job(
            "bad",
            tasks={"only": {}},
            script=f"echo start >> {starts}; exit 1",
            maxRetry=2,
            policies=RESTART,
        )
    )
    place.awaited(lambda: place.phase("bad") == "Failed", "its end")
    assert starts.read_text().splitlines() == ["start"] * 2
    status = (place.get("batch.volcano.sh/v1alpha1", "jobs", "bad") or {})["status"]
    assert status["retryCount"] == 2
    assert "RestartJob" in place.events("bad")["ExecuteAction"]


def test_an_evicted_pod_restarts_the_gang(place: Cluster) -> None:
    place.create(volcano_job("spot", script=LONG, policies=RESTART))
    place.awaited(lambda: place.phase("spot") == "Running", "running")
    before = {name: pod["metadata"]["uid"] for name, pod in place.pods().items()}
    place.evict("spot-role-1-0")

    def all_new() -> bool:
        now = {name: pod["metadata"]["uid"] for name, pod in place.pods().items()}
        return len(now) == 2 and not set(now.values()) & set(before.values())

    place.awaited(all_new, "the second start")
    place.awaited(lambda: place.phase("spot") == "Running", "running again")
    assert {
        pod["metadata"]["annotations"]["volcano.sh/job-version"] for pod in place.pods().values()
    } == {"1"}


def test_a_job_is_aborted_and_resumed_over_the_bus(place: Cluster) -> None:
    made = place.create(volcano_job("commanded", tasks={"only": {}}, script=LONG))
    place.awaited(lambda: place.phase("commanded") == "Running", "running")

    def order(action: str) -> None:
        target = {
            "apiVersion": made["apiVersion"],
            "kind": "Job",
            "name": "commanded",
            "uid": made["metadata"]["uid"],
        }
        place.create(
            {
                "apiVersion": "bus.volcano.sh/v1alpha1",
                "kind": "Command",
                "metadata": {"name": f"do-{action.lower()}"},
                "action": action,
                "target": target,
            }
        )

    order("AbortJob")
    place.awaited(
        lambda: place.phase("commanded") == "Aborted" and not place.pods(), "the end of its pods"
    )
    place.awaited(
        lambda: not place.list("bus.volcano.sh/v1alpha1", "commands"), "the order to be heard"
    )
    order("ResumeJob")
    place.awaited(lambda: place.phase("commanded") == "Running", "running again")


def test_the_training_operator_has_its_jobs_placed_as_gangs_when_it_is_told_to(
    place: Cluster, tmp_path: Path
) -> None:
    deployment = ("apps/v1", "deployments", TRAINING_OPERATOR.deployment)
    with_gangs = [
        {
            "name": "manager",
            "image": IMAGES[TRAINING_OPERATOR],
            "args": ["--gang-scheduler-name=volcano"],
        }
    ]
    plain = [{**with_gangs[0], "args": []}]
    place.merge(
        *deployment,
        {"spec": {"template": {"spec": {"containers": with_gangs}}}},
        TRAINING_OPERATOR.namespace,
    )
    try:
        place.awaited(
            lambda: (
                all(
                    pod["spec"]["containers"][0].get("args")
                    for pod in place.operator_pods(TRAINING_OPERATOR)
                )
                and place.operator_is_ready(TRAINING_OPERATOR)
            ),
            "the operator that was told",
        )
        seen = tmp_path / "seen"
        script = f"while ! test -e {seen}; do sleep 0.1; done"
        job = pytorch_job(
            "pair",
            workers=2,
            script=script,
            policy={"schedulingPolicy": {"minAvailable": 2, "queue": "default"}},
        )
        place.create(job)
        place.awaited(
            lambda: place.condition("kubeflow.org/v1", "pytorchjobs", "pair") == "Running",
            "running",
        )
        group = place.get(SCHEDULING, "podgroups", "pair") or {}
        assert group["spec"].items() >= {"minMember": 2, "queue": "default"}.items()
        assert {pod["spec"]["schedulerName"] for pod in place.pods().values()} == {"volcano"}
        seen.touch()
        place.awaited(
            lambda: place.get(SCHEDULING, "podgroups", "pair") is None, "the end of its group"
        )
        assert place.condition("kubeflow.org/v1", "pytorchjobs", "pair") == "Succeeded"
    finally:
        place.merge(
            *deployment,
            {"spec": {"template": {"spec": {"containers": plain}}}},
            TRAINING_OPERATOR.namespace,
        )


def test_a_pod_without_a_group_is_given_one(place: Cluster) -> None:
    spec = {
        "schedulerName": "volcano",
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "trainer:1", "command": ["true"]}],
    }
    made = place.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": spec}
    )
    place.awaited(
        lambda: (place.pods()["alone"].get("status") or {}).get("phase") == "Succeeded", "its end"
    )
    assert group_of(place, "podgroup")["metadata"]["name"] == f"podgroup-{made['metadata']['uid']}"
