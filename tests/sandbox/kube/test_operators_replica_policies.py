"""When the training operator restarts, ends and deletes what a job made."""

from __future__ import annotations

from datetime import timedelta

import pytest

from playrunner.sandbox.kube.operators.objects import stamp
from tests.support.kube.operator_jobs import pod_now, pytorch_job
from tests.support.kube.replica_moves import NOW, made, moved, pods_of, states


@pytest.mark.parametrize(
    ("clean", "gone"),
    [("None", []), ("Running", ["a-worker-1"]), ("All", ["a-worker-0", "a-worker-1"])],
)
def test_pods_of_an_ended_job_go_as_its_policy_says(clean: str, gone: list[str]) -> None:
    job = pytorch_job("a", policy={"cleanPodPolicy": clean}, elasticPolicy={"minReplicas": 1})
    pods = pods_of(job, "Succeeded", "Running")
    job["status"] = moved(job, pods).status
    assert [one["metadata"]["name"] for one in moved(job, pods).delete] == gone


def test_an_ended_job_goes_when_its_time_has_come() -> None:
    job = pytorch_job("a", workers=1, policy={"ttlSecondsAfterFinished": 60})
    pods = pods_of(job, "Succeeded")
    job["status"] = moved(job, pods).status
    soon, late = (
        moved(job, pods, now=NOW + timedelta(seconds=20)),
        moved(job, pods, now=NOW + timedelta(seconds=60)),
    )
    assert (soon.remove_job, soon.again_seconds) == (False, 40)
    assert late.remove_job


def test_a_job_past_its_deadline_fails_and_its_pods_go() -> None:
    job = pytorch_job("a", policy={"activeDeadlineSeconds": 30})
    pods = pods_of(job, "Running", "Running")
    job["status"] = {"startTime": stamp(NOW), "conditions": []}
    assert moved(job, pods, now=NOW + timedelta(seconds=10)).again_seconds == 20
    move = moved(job, pods, now=NOW + timedelta(seconds=30))
    assert states(move)[-1] == ("Failed", "True")
    assert "longer than specified deadline" in move.status["conditions"][-1]["message"]
    assert len(move.delete) == 2


@pytest.mark.parametrize(("restarts", "state"), [(2, "Running"), (3, "Failed")])
def test_a_job_fails_when_its_containers_restarted_too_often(restarts: int, state: str) -> None:
    job = pytorch_job("a", workers=1, policy={"backoffLimit": 3})
    pod = next(iter(made(moved(job)).values()))
    assert states(moved(job, [pod_now(pod, restarts=restarts)]))[-1] == (state, "True")


def test_a_suspended_job_has_no_pods_and_starts_anew_when_it_is_resumed() -> None:
    job = pytorch_job("a", policy={"suspend": True})
    assert made(moved(job)) == {}
    move = moved(job, pods_of(pytorch_job("a"), "Running", "Running"))
    assert states(move)[-1] == ("Suspended", "True")
    assert len(move.delete) == 2
    job["status"], job["spec"]["runPolicy"] = move.status, {}
    later = moved(job, now=NOW + timedelta(hours=1))
    assert states(later)[-1] == ("Suspended", "False")
    assert later.status["startTime"] == stamp(NOW + timedelta(hours=1))
    assert len(made(later)) == 2


def test_pods_of_a_gang_wait_for_their_group() -> None:
    job = pytorch_job("a", workers=2)
    waiting = moved(job, group="a", admitted=False)
    assert (made(waiting), len(made(waiting, "Service"))) == ({}, 2)
    pod = made(moved(job, group="a"))["a-worker-0"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["annotations"] == {
        "scheduling.k8s.io/group-name": "a",
        "volcano.sh/task-spec": "worker",
    }


def test_the_status_counts_replicas_and_says_how_to_select_them() -> None:
    job = pytorch_job("a", workers=2)
    worker = moved(job, pods_of(job, "Running", "Succeeded")).status["replicaStatuses"]["Worker"]
    assert (worker["active"], worker["succeeded"]) == (1, 1)
    assert (
        worker["selector"] == "training.kubeflow.org/job-name=a,"
        "training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
