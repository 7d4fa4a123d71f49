"""What train.why says of a run on a cluster, from what the cluster says."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.training.diagnosis.evidence import Cause
from playrunner.training.kube.diagnosis.facts import Facts
from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.launchers.kind import Status
from playrunner.training.kube.runs.run_view import ClusterRun
from playrunner.training.kube.why import causes

NOW = 1_000_000.0


def facts(
    launcher: str = "job",
    state: str = "pending",
    pods: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> Facts:
    summary = {
        "name": "run",
        "run_id": "run-hpz",
        "namespace": "default",
        "launcher": launcher,
        "replicas": 2,
        "steps": 100,
        "claim": "shared",
        "created": NOW - 300,
    }
    job = more.pop("job", {"metadata": {"name": "run-hpz"}, "status": {"active": 2}})
    run = ClusterRun(summary, Status(state, "Active", more.pop("reason", "")), job, pods)
    bound = {"metadata": {"name": "shared"}, "status": {"phase": "Bound"}}
    return Facts(run, NOW, **{"claim": bound, **more})


def pod(
    phase: str = "Pending", scheduled: str = "", container: dict[str, Any] | None = None
) -> dict[str, Any]:
    conditions = (
        [{"type": "PodScheduled", "status": "False", "message": scheduled}] if scheduled else []
    )
    statuses = [{"name": "pytorch", "image": "i:1", **container}] if container else []
    return {
        "metadata": {"name": "run-hpz-0", "namespace": "default"},
        "spec": {"nodeName": "n"},
        "status": {"phase": phase, "conditions": conditions, "containerStatuses": statuses},
    }


def event(reason: str, message: str, about: str = "run-hpz-0") -> dict[str, Any]:
    return {
        "reason": reason,
        "message": message,
        "type": "Warning",
        "involvedObject": {"name": about, "kind": "Pod"},
    }


def likeliest(found: Facts) -> Cause:
    return causes(found)[0]


@pytest.mark.parametrize(
    ("message", "title", "command"),
    [
        (
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
            "no node has enough free nvidia.com/gpu",
            "kubectl",
        ),
        (
            "0/2 nodes are available: 2 node(s) had untolerated taint {reserved: yes}.",
            "nodes carry the taint reserved=yes",
            "kubectl taint",
        ),
        (
            "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
            "its volume lives in another zone",
            "",
        ),
    ],
)
def test_a_pending_pod_is_explained_by_the_scheduler_s_own_words(
    message: str, title: str, command: str
) -> None:
    cause = likeliest(facts(pods=(pod(scheduled=message),)))
    assert cause.title.startswith(title)
    assert command in cause.next_command
    assert message in cause.evidence[0]


def test_a_quota_that_lets_no_pod_be_made_comes_first() -> None:
    said = event(
        "FailedCreate",
        'pods "run-hpz-0-x" is forbidden: exceeded quota: few, requested: cpu=2, limited: cpu=1',
    )
    cause = likeliest(facts(events=[said]))
    assert (
        "quota" in cause.title and "kubectl describe resourcequota -n default" in cause.next_command
    )


def test_a_gang_without_room_is_told_with_its_group() -> None:
    group = {
        "metadata": {"name": "run-hpz-uid"},
        "spec": {"minMember": 2, "queue": "test"},
        "status": {
            "phase": "Inqueue",
            "conditions": [
                {
                    "type": "Unschedulable",
                    "status": "True",
                    "message": "2/2 tasks in gang unschedulable: pod group is not ready",
                }
            ],
        },
    }
    cause = likeliest(facts("vcjob", pod_group=group))
    assert "the gang of 2 does not fit" in cause.title
    assert any("2/2 tasks in gang unschedulable" in line for line in cause.evidence)


def test_a_gang_that_its_queue_holds_back_says_that_no_autoscaler_sees_it() -> None:
    group = {
        "metadata": {"name": "run-hpz-uid"},
        "spec": {"minMember": 2, "queue": "test"},
        "status": {"phase": "Pending"},
    }
    cause = likeliest(facts("vcjob", pod_group=group))
    assert "the queue test has no room" in cause.title and "no autoscaler sees them" in cause.title
    assert "kubectl get queue test" in cause.next_command


def test_a_claim_that_is_not_bound_is_told_with_the_provisioner_s_reason() -> None:
    claim = {"metadata": {"name": "shared"}, "status": {"phase": "Pending"}}
    failed = {
        "reason": "ProvisioningFailed",
        "message": "AccessDenied: elasticfilesystem:CreateAccessPoint",
    }
    cause = likeliest(facts(claim=claim, claim_events=[failed], pods=(pod(),)))
    assert "claim shared is Pending" in cause.title and "AccessDenied" in cause.evidence[0]
    assert cause.next_command == "kubectl describe pvc shared -n default"


def test_an_autoscaler_at_work_is_not_taken_for_trouble() -> None:
    found = causes(
        facts(
            pods=(pod(),),
            events=[event("TriggeredScaleUp", "pod triggered scale-up: [{pool-1 0->2 (max: 4)}]")],
        )
    )
    assert "the autoscaler is adding nodes" in found[0].title and "0->2" in found[0].evidence[0]


def test_a_job_that_nobody_looks_at_points_to_its_operator() -> None:
    for launcher, namespace in (
        ("pytorchjob", "kubeflow"),
        ("elasticjob", "elastic-job"),
        ("vcjob", "volcano-system"),
    ):
        cause = likeliest(facts(launcher, job={"metadata": {"name": "run-hpz"}}))
        assert "its operator does not run" in cause.title
        assert f"kubectl get pods -n {namespace}" in cause.next_command


def test_a_container_that_ends_again_and_again_is_told_with_its_last_lines() -> None:
    crashed = pod(
        phase="Running",
        container={
            "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1}},
        },
    )
    cause = likeliest(
        facts(
            state="running",
            pods=(crashed,),
            logs={"run-hpz-0": ["Traceback", "ImportError: no torch"]},
        )
    )
    assert "it ends again and again" in cause.title and "ImportError: no torch" in cause.evidence
    assert cause.next_command == "invoke train.logs --name run --host run-hpz-0"


def test_lack_of_memory_is_named() -> None:
    killed = pod(
        phase="Failed",
        container={"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    )
    assert "ran out of memory" in likeliest(facts(state="failed", pods=(killed,))).title


def test_a_name_that_does_not_resolve_leads_to_the_network_check() -> None:
    line = "pod: waiting for run-hpz-0.run-hpz:29500 (30 s): [Errno -2] Name or service not known"
    cause = likeliest(facts(pods=(pod(phase="Running"),), logs={"run-hpz-1": [line]}))
    assert "the name run-hpz-0.run-hpz does not resolve in run-hpz-1" in cause.title
    assert "invoke train.netcheck --name run" in cause.next_command


def test_a_standstill_is_told_by_the_usual_pace() -> None:
    metrics = [
        {"step": at, "loss": 1.0, "time": NOW - 400 + 2 * at, "step_seconds": 2.0}
        for at in range(1, 11)
    ]
    cause = likeliest(facts(state="running", metrics=metrics))
    assert "it stands still: nothing for 380 s after step 10" in cause.title
    assert "train.top" in cause.next_command and "train.netcheck" in cause.next_command


def test_a_run_that_gets_on_is_left_in_peace() -> None:
    metrics = [
        {"step": at, "loss": 1.0, "time": NOW - 40 + 2 * at, "step_seconds": 2.0}
        for at in range(1, 21)
    ]
    assert likeliest(facts(state="running", metrics=metrics)).title.startswith(
        "nothing is wrong: it gets on"
    )


def test_ranks_that_were_asked_to_meet_again_have_not_refused_anything() -> None:
    metrics = [
        {"step": at, "loss": 1.0, "time": NOW - 40 + 2 * at, "step_seconds": 2.0}
        for at in range(1, 21)
    ]
    said = {
        "run-hpz-0": [
            "[0] trainer: asked to end at step 12, but not by the run's supervisor: saved; the"
            " run can resume"
        ]
    }
    assert likeliest(facts(state="running", metrics=metrics, logs=said)).title.startswith(
        "nothing is wrong"
    )
    refused = {"run-hpz-0": ["[0] trainer: train.batch_size is 7"]}
    assert (
        likeliest(facts(state="running", metrics=metrics, logs=refused)).title
        == "the trainer refused to go on"
    )


def test_waiting_for_data_is_told_from_a_slow_network() -> None:
    metrics = [
        {
            "step": at,
            "loss": 1.0,
            "time": NOW - 60 + 2 * at,
            "step_seconds": 2.0,
            "data_wait_seconds": 1.2,
        }
        for at in range(1, 31)
    ]
    assert "waits for data 60 %" in likeliest(facts(state="running", metrics=metrics)).title


def test_every_cause_has_a_next_command() -> None:
    lost = event("NodeNotReady", "Node is not ready")
    for found in (
        facts(pods=(pod(scheduled="0/2 nodes are available: 2 Insufficient cpu."),)),
        facts(state="stopped"),
        facts(state="failed", reason="x"),
        facts(state="lost"),
        facts(state="finished"),
        facts(events=[lost]),
    ):
        assert all(cause.next_command for cause in causes(found)), found


@pytest.mark.parametrize(
    ("launcher", "status", "state"),
    [
        ("job", {"active": 2, "ready": 2}, "running"),
        ("job", {"active": 2}, "pending"),
        ("job", {"conditions": [{"type": "Complete", "status": "True"}]}, "finished"),
        (
            "job",
            {
                "conditions": [
                    {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
                ]
            },
            "failed",
        ),
        ("pytorchjob", {"conditions": [{"type": "Created", "status": "True"}]}, "pending"),
        (
            "pytorchjob",
            {
                "conditions": [
                    {"type": "Running", "status": "False"},
                    {"type": "Succeeded", "status": "True"},
                ]
            },
            "finished",
        ),
        ("elasticjob", {"conditions": [{"type": "Restarting", "status": "True"}]}, "running"),
        ("elasticjob", {}, "pending"),
        ("vcjob", {"state": {"phase": "Running"}}, "running"),
        ("vcjob", {"state": {"phase": "Completed"}}, "finished"),
        ("vcjob", {"state": {"phase": "Aborted"}}, "failed"),
        ("vcjob", {"state": {"phase": "Terminating"}}, "stopping"),
    ],
)
def test_an_operator_s_words_become_one_of_ours(
    launcher: str, status: dict[str, Any], state: str
) -> None:
    assert KINDS[launcher].read({"status": status}).state == state
