"""What Volcano's job controller decides, from a job and its pods alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from playrunner.sandbox.kube.operators.volcano import plugins, pods
from playrunner.sandbox.kube.operators.volcano.spec import read
from tests.support.kube.operator_jobs import pod_now, variables, volcano_job
from tests.support.kube.volcano_moves import NOW, after, in_phases, moved, phase, running


def test_pods_are_named_by_task_and_carry_volcanos_marks() -> None:
    job = volcano_job("bert", "ml", tasks={"role1-0": {}, "role1-1": {"replicas": 2}}, queue="test")
    made = {one["metadata"]["name"]: one for one in moved(job).create}
    assert list(made) == ["bert-role1-0-0", "bert-role1-1-0", "bert-role1-1-1"]
    pod = made["bert-role1-1-1"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert (
        pod["metadata"]["labels"].items()
        >= {
            "volcano.sh/job-name": "bert",
            "volcano.sh/job-namespace": "ml",
            "volcano.sh/queue-name": "test",
            "volcano.sh/task-spec": "role1-1",
            "volcano.sh/task-index": "1",
        }.items()
    )
    assert (
        pod["metadata"]["annotations"].items()
        >= {
            "scheduling.k8s.io/group-name": "bert-uid-of-bert",
            "volcano.sh/task-spec": "role1-1",
            "volcano.sh/job-version": "0",
        }.items()
    )


def test_the_group_asks_for_all_that_its_pods_need() -> None:
    job = volcano_job("bert", tasks={"a": {"replicas": 2}, "b": {}}, queue="test")
    for task in job["spec"]["tasks"]:
        task["template"]["spec"]["containers"][0]["resources"] = {
            "limits": {"nvidia.com/gpu": 8, "cpu": "500m"}
        }
    group = pods.group_of(read(job))
    assert group["metadata"]["name"] == "bert-uid-of-bert"
    assert group["spec"] == {
        "minMember": 3, "queue": "test", "minResources": {"cpu": "1500m", "nvidia.com/gpu": "24"},
        "minTaskMember": {"a": 2, "b": 1},
    }  # fmt: skip


def test_plugins_tell_each_pod_its_number_and_all_their_names() -> None:
    job = volcano_job("bert", "ml", tasks={"role1-0": {}, "ps": {"replicas": 2}},
                      plugins={"svc": ["--publish-not-ready-addresses"], "env": []})  # fmt: skip
    pod = moved(job).create[2]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("bert-ps-1", "bert")
    told = variables(pod)
    assert (told["VK_TASK_INDEX"], told["VC_TASK_INDEX"]) == ("1", "1")
    assert told["VC_ROLE1_0_HOSTS"] == {
        "configMapKeyRef": {"name": "bert-svc", "key": "VC_ROLE1_0_HOSTS"}
    }
    assert {"name": "bert-svc", "mountPath": "/etc/volcano"} in pod["spec"]["containers"][0][
        "volumeMounts"
    ]
    service, hosts, policy = plugins.companions(read(job))
    assert service["metadata"]["name"] == "bert"
    assert (
        service["spec"].items() >= {"clusterIP": "None", "publishNotReadyAddresses": True}.items()
    )
    assert hosts["metadata"]["name"] == "bert-svc"
    assert hosts["data"] == {
        "role1-0.host": "bert-role1-0-0.bert",
        "VC_ROLE1_0_HOSTS": "bert-role1-0-0.bert",
        "VC_ROLE1_0_NUM": "1",
        "ps.host": "bert-ps-0.bert\nbert-ps-1.bert",
        "VC_PS_HOSTS": "bert-ps-0.bert,bert-ps-1.bert",
        "VC_PS_NUM": "2",
    }
    same_job = {"matchLabels": {"volcano.sh/job-name": "bert", "volcano.sh/job-namespace": "ml"}}
    assert (policy["spec"]["podSelector"], policy["spec"]["ingress"]) == (
        same_job,
        [{"from": [{"podSelector": same_job}]}],
    )


def test_the_network_policy_can_be_done_without() -> None:
    job = volcano_job("bert", plugins={"svc": ["--disable-network-policy=true"]})
    assert [one["kind"] for one in plugins.companions(read(job))] == ["Service", "ConfigMap"]


def test_no_pod_is_made_before_the_group_leaves_its_queue() -> None:
    job = volcano_job("a")
    assert moved(job, admitted=False).create == ()
    assert phase(moved(job, admitted=False)) == "Pending"
    assert len(moved(job).create) == 2


@pytest.mark.parametrize(
    ("phases", "then"),
    [
        (("Running", "Pending"), "Pending"),
        (("Running", "Running"), "Running"),
        (("Running", "Succeeded"), "Running"),
    ],
)
def test_a_job_runs_once_enough_of_its_pods_do(phases: tuple[str, ...], then: str) -> None:
    job = volcano_job("a")
    assert phase(moved(job, in_phases(job, *phases))) == then


@pytest.mark.parametrize(
    ("phases", "spec", "then"),
    [
        (("Succeeded", "Running"), {}, "Running"),
        (("Succeeded", "Succeeded"), {}, "Completed"),
        (("Succeeded", "Failed"), {}, "Failed"),
        (("Succeeded", "Failed"), {"minAvailable": 1}, "Completed"),
        (("Succeeded", "Running"), {"minSuccess": 1}, "Completed"),
        (("Failed", "Running"), {}, "Running"),
    ],
)
def test_a_running_job_ends_with_its_pods(
    phases: tuple[str, ...], spec: dict[str, Any], then: str
) -> None:
    job = volcano_job("a", **spec)
    there = in_phases(job, *phases)
    move = moved(running(job), there)
    assert move.status["state"]["phase"] == then


def test_a_job_is_aborted_and_resumed_by_command() -> None:
    job = running(volcano_job("a"))
    there = in_phases(volcano_job("a"), "Running", "Running")
    job = after(job, moved(job, there, command="AbortJob"))
    assert len(moved(job, there).delete) == 2
    job = after(job, moved(job, []))
    assert job["status"]["state"]["phase"] == "Aborted"
    assert moved(job, []).create == ()
    job = after(job, moved(job, [], command="ResumeJob"))
    job = after(job, moved(job, []))
    assert job["status"]["state"]["phase"] == "Pending"
    assert len(moved(job, []).create) == 2


def test_a_task_waits_for_the_tasks_it_depends_on() -> None:
    job = volcano_job("a", tasks={"server": {}, "client": {"dependsOn": {"name": ["server"]}}})
    assert [one["metadata"]["name"] for one in moved(job).create] == ["a-server-0"]
    server = pod_now(moved(job).create[0], "Running")
    assert [one["metadata"]["name"] for one in moved(job, [server]).create] == ["a-client-0"]


def test_a_finished_job_goes_when_its_time_has_come() -> None:
    job = running(volcano_job("a", ttlSecondsAfterFinished=30))
    there = in_phases(volcano_job("a"), "Succeeded", "Succeeded")
    job = after(job, moved(job, there))
    assert moved(job, there, now=NOW + timedelta(seconds=10)).again_seconds == 20
    assert moved(job, there, now=NOW + timedelta(seconds=30)).remove_job


def test_a_job_that_is_as_it_should_be_is_left_alone() -> None:
    job = running(volcano_job("a", plugins={"env": []}))
    there = in_phases(volcano_job("a"), "Running", "Running")
    move = moved(job, there, now=NOW + timedelta(hours=1))
    assert (move.create, move.delete, move.action, move.status) == ((), (), "", job["status"])
    assert (
        move.status.items()
        >= {
            "running": 2,
            "minAvailable": 2,
            "controlledResources": {"plugin-env": "env"},
        }.items()
    )
