"""What the training operator and the ElasticJob controller decide, from a job and its pods
alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from playrunner.sandbox.kube.operators import elastic, kubeflow
from tests.support.kube.operator_jobs import Object, elastic_job, pytorch_job, variables
from tests.support.kube.replica_moves import NOW, made, moved, pods_of, states


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


def test_workers_wait_for_the_master_as_the_template_of_the_operator_says() -> None:
    template = (
        "- {name: init-pytorch, image: '{{.InitContainerImage}}', command: [wait,"
        " '{{.MasterAddr}}'], securityContext: {allowPrivilegeEscalation: false}}"
    )
    job = pytorch_job("bert", masters=1, workers=1)
    pods = made(moved(job, dialect=kubeflow.dialect(template)))
    assert pods["bert-worker-0"]["spec"]["initContainers"] == [
        {
            "name": "init-pytorch",
            "image": "alpine:3.10",
            "command": ["wait", "bert-master-0"],
            "securityContext": {"allowPrivilegeEscalation": False},
        }
    ]
    assert "initContainers" not in pods["bert-master-0"]["spec"]


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
    move = moved(job, pods_of(job, *phases))
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
        pods = pods_of(job, "Failed", "Running", dialect=dialect, code=code)
        move = moved(job, pods, dialect)
        assert states(move)[-1][0] == state
        assert [one["metadata"]["name"] for one in move.delete] == (
            ["a-worker-0"] if state == "Restarting" else []
        )


def test_one_that_restarted_runs_again() -> None:
    job = pytorch_job("a", workers=1)
    job["status"] = moved(job, pods_of(job, "Failed")).status
    assert states(moved(job, []))[-1] == ("Restarting", "True")  # until its pod is there again
    job["status"] = moved(job, pods_of(job, "Running")).status
    assert states(moved(job, pods_of(job, "Running"))) == [("Created", "True"), ("Running", "True")]


def test_a_job_that_is_as_it_should_be_is_left_alone() -> None:
    job = pytorch_job("a", workers=2)
    first = moved(job)
    job["status"] = first.status
    pods, services = pods_of(job, "Running", "Running"), list(made(first, "Service").values())
    job["status"] = moved(job, pods, services=services).status
    again = moved(job, pods, services=services, now=NOW + timedelta(hours=1))
    assert (again.create, again.delete, again.status) == ((), (), job["status"])


def test_scaling_adds_pods_at_the_end_and_takes_them_from_there() -> None:
    job = pytorch_job("a", workers=3)
    pods, services = (
        pods_of(job, "Running", "Running", "Running"),
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
