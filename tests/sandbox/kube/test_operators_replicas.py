"""What the training operator and the ElasticJob controller decide, from a job and its pods
alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from playrunner.sandbox.kube.operators import elastic, kubeflow
from playrunner.sandbox.kube.operators.objects import stamp
from playrunner.sandbox.kube.operators.replicated.progress import Move, Seen, next_move
from playrunner.sandbox.kube.operators.replicated.spec import Dialect
from tests.support.kube.operator_jobs import Object, elastic_job, pod_now, pytorch_job, variables

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def moved(
    job: Object,
    pods: Sequence[Object] = (),
    dialect: Dialect = kubeflow.DIALECT,
    now: datetime = NOW,
    **seen: Any,
) -> Move:
    return next_move(
        dialect, dialect.read(job), Seen(list(pods), seen.pop("services", []), **seen), now
    )


def made(move: Move, kind: str = "Pod") -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in move.create if one["kind"] == kind}


def states(move: Move) -> list[tuple[str, str]]:
    return [(one["type"], one["status"]) for one in move.status["conditions"]]


def test_a_job_with_a_master_gets_its_pods_names_and_environment() -> None:
    move = moved(pytorch_job("bert", masters=1, workers=2, nprocPerNode="4"))
    pods, services = made(move), made(move, "Service")
    assert list(pods) == list(services) == ["bert-master-0", "bert-worker-0", "bert-worker-1"]
    worker = pods["bert-worker-1"]
    assert worker["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "bert",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "1",
    }
    assert pods["bert-master-0"]["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
    assert variables(worker) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "bert-master-0",
        "PET_MASTER_ADDR": "bert-master-0",
        "WORLD_SIZE": "12",
        "RANK": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": "2",
        "PET_NNODES": "3",
    }
    assert worker["spec"]["initContainers"][0]["name"] == "init-pytorch"
    assert "initContainers" not in pods["bert-master-0"]["spec"]
    assert (
        worker["metadata"]["ownerReferences"][0]
        | {
            "kind": "PyTorchJob",
            "name": "bert",
            "controller": True,
        }
        == (worker["metadata"]["ownerReferences"][0])
    )


def test_a_service_stands_for_each_pod_and_lists_its_ports() -> None:
    job = pytorch_job("bert", workers=1)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["ports"] = [
        {"name": "rendezvous", "containerPort": 29500}
    ]
    service = made(moved(job), "Service")["bert-worker-0"]["spec"]
    assert service["clusterIP"] == "None"
    assert service["selector"]["training.kubeflow.org/replica-index"] == "0"
    assert service["ports"] == [
        {"name": "rendezvous", "port": 29500},
        {"name": "pytorchjob-port", "port": 23456},
    ]


def test_an_elastic_job_speaks_the_language_of_torchrun() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 4,
        "rdzvBackend": "etcd-v2",
        "rdzvHost": "etcd",
        "rdzvPort": 2379,
        "maxRestarts": 7,
        "rdzvId": "run-1",
        "rdzvConf": [{"key": "timeout", "value": "60"}, {"key": "close_timeout", "value": "5"}],
    }
    environment = variables(
        made(moved(pytorch_job("fsdp", workers=2, nprocPerNode="2", elasticPolicy=policy)))[
            "fsdp-worker-0"
        ]
    )
    assert environment == {
        "PYTHONUNBUFFERED": "1",
        "PET_RDZV_ENDPOINT": "etcd:2379",
        "PET_RDZV_BACKEND": "etcd-v2",
        "PET_NNODES": "1:4",
        "PET_NPROC_PER_NODE": "2",
        "PET_MAX_RESTARTS": "7",
        "PET_RDZV_ID": "run-1",
        "PET_RDZV_CONF": "timeout=60,close_timeout=5",
    }
    shortest = pytorch_job("fsdp", workers=2, elasticPolicy={"minReplicas": 1, "maxReplicas": 2})
    environment = variables(made(moved(shortest))["fsdp-worker-1"])
    assert (environment["PET_RDZV_ENDPOINT"], environment["PET_RDZV_BACKEND"]) == (
        "fsdp-worker-0:23456",
        "c10d",
    )


def test_an_elastic_jobs_containers_are_told_where_to_meet_before_their_own_arguments() -> None:
    job = elastic_job("imagenet", workers=2)
    job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] = [
        "--nproc_per_node=1",
        "main.py",
    ]
    pod = made(moved(job, dialect=elastic.DIALECT))["imagenet-worker-1"]
    assert pod["spec"]["containers"][0]["args"] == [
        "--rdzv_backend=etcd",
        "--rdzv_endpoint=etcd-service:2379",
        "--rdzv_id=imagenet",
        "--nnodes=1:3",
        "--nproc_per_node=1",
        "main.py",
    ]
    assert pod["spec"]["restartPolicy"] == "Never"  # its exit code is for the controller to judge
    assert pod["metadata"]["labels"] == {
        "group-name": "elastic.pytorch.org",
        "controller-name": "elastic-job-controller",
        "job-name": "imagenet",
        "replica-type": "worker",
        "replica-index": "1",
    }


def _pods(
    job: Object, *phases: str, dialect: Dialect = kubeflow.DIALECT, code: int | None = None
) -> list[Object]:
    """The job's pods in these phases; `code`: how the first one ended."""
    pods = made(moved(job, dialect=dialect)).values()
    codes = (code, *[None] * len(phases))
    return [
        pod_now(pod, phase, exit_code=how)
        for pod, phase, how in zip(pods, phases, codes, strict=False)
    ]


@pytest.mark.parametrize(
    ("job", "phases", "state"),
    [
        (pytorch_job("a", workers=2), ("Pending", "Pending"), "Created"),
        (pytorch_job("a", workers=2), ("Running", "Pending"), "Running"),
        (pytorch_job("a", workers=2), ("Succeeded", "Running"), "Running"),
        (pytorch_job("a", workers=2), ("Succeeded", "Succeeded"), "Succeeded"),
        (pytorch_job("a", masters=1, workers=1), ("Pending", "Running"), "Created"),
        (pytorch_job("a", masters=1, workers=1), ("Running", "Pending"), "Running"),
        (pytorch_job("a", masters=1, workers=1), ("Succeeded", "Running"), "Succeeded"),
        (
            pytorch_job("a", workers=2, elasticPolicy={"minReplicas": 1}),
            ("Succeeded", "Running"),
            "Succeeded",
        ),
        (pytorch_job("a", workers=2, restart="Never"), ("Failed", "Running"), "Failed"),
        (pytorch_job("a", workers=2, restart="OnFailure"), ("Failed", "Running"), "Restarting"),
    ],
)
def test_the_state_follows_the_pods(job: Object, phases: tuple[str, ...], state: str) -> None:
    move = moved(job, _pods(job, *phases))
    assert states(move)[-1] == (state, "True")
    assert ("completionTime" in move.status) == (state in ("Succeeded", "Failed"))


@pytest.mark.parametrize(
    ("code", "state"), [(1, "Failed"), (127, "Failed"), (128, "Restarting"), (137, "Restarting")]
)
def test_an_exit_code_of_a_signal_is_tried_again_and_a_programs_own_is_final(
    code: int, state: str
) -> None:
    for job, dialect in (
        (pytorch_job("a", restart="ExitCode"), kubeflow.DIALECT),
        (elastic_job("a"), elastic.DIALECT),
    ):
        pods = _pods(job, "Failed", "Running", dialect=dialect, code=code)
        move = moved(job, pods, dialect)
        assert states(move)[-1][0] == state
        assert [one["metadata"]["name"] for one in move.delete] == (
            ["a-worker-0"] if state == "Restarting" else []
        )


def test_one_that_restarted_runs_again() -> None:
    job = pytorch_job("a", workers=1)
    job["status"] = moved(job, _pods(job, "Failed")).status
    assert states(moved(job, []))[-1] == ("Restarting", "True")  # until its pod is there again
    job["status"] = moved(job, _pods(job, "Running")).status
    assert states(moved(job, _pods(job, "Running"))) == [("Created", "True"), ("Running", "True")]


def test_a_job_that_is_as_it_should_be_is_left_alone() -> None:
    job = pytorch_job("a", workers=2)
    first = moved(job)
    job["status"] = first.status
    pods, services = _pods(job, "Running", "Running"), list(made(first, "Service").values())
    job["status"] = moved(job, pods, services=services).status
    again = moved(job, pods, services=services, now=NOW + timedelta(hours=1))
    assert (again.create, again.delete, again.status) == ((), (), job["status"])


def test_scaling_adds_pods_at_the_end_and_takes_them_from_there() -> None:
    job = pytorch_job("a", workers=3)
    pods, services = (
        _pods(job, "Running", "Running", "Running"),
        list(made(moved(job), "Service").values()),
    )
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 1
    move = moved(job, pods, services=services)
    assert sorted(one["metadata"]["name"] for one in move.delete) == [
        "a-worker-1",
        "a-worker-1",
        "a-worker-2",
        "a-worker-2",
    ]
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 4
    assert list(made(moved(job, pods, services=services))) == ["a-worker-3"]


@pytest.mark.parametrize(
    ("clean", "gone"),
    [("None", []), ("Running", ["a-worker-1"]), ("All", ["a-worker-0", "a-worker-1"])],
)
def test_pods_of_an_ended_job_go_as_its_policy_says(clean: str, gone: list[str]) -> None:
    job = pytorch_job("a", policy={"cleanPodPolicy": clean}, elasticPolicy={"minReplicas": 1})
    pods = _pods(job, "Succeeded", "Running")
    job["status"] = moved(job, pods).status
    assert [one["metadata"]["name"] for one in moved(job, pods).delete] == gone


def test_an_ended_job_goes_when_its_time_has_come() -> None:
    job = pytorch_job("a", workers=1, policy={"ttlSecondsAfterFinished": 60})
    pods = _pods(job, "Succeeded")
    job["status"] = moved(job, pods).status
    soon, late = (
        moved(job, pods, now=NOW + timedelta(seconds=20)),
        moved(job, pods, now=NOW + timedelta(seconds=60)),
    )
    assert (soon.remove_job, soon.again_seconds) == (False, 40)
    assert late.remove_job


def test_a_job_past_its_deadline_fails_and_its_pods_go() -> None:
    job = pytorch_job("a", policy={"activeDeadlineSeconds": 30})
    pods = _pods(job, "Running", "Running")
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
    move = moved(job, _pods(pytorch_job("a"), "Running", "Running"))
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
    worker = moved(job, _pods(job, "Running", "Succeeded")).status["replicaStatuses"]["Worker"]
    assert (worker["active"], worker["succeeded"]) == (1, 1)
    assert (
        worker["selector"] == "training.kubeflow.org/job-name=a,"
        "training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
