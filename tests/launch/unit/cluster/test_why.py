"""What train.why says of a run on a cluster, from what the cluster says."""

from __future__ import annotations

from typing import Any

import pytest

from playrunner.training.kube.launchers import KINDS
from playrunner.training.kube.why import causes
from tests.support.launch.cluster_facts import NOW, event, facts, likeliest, pod


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


def test_a_run_that_begins_again_and_again_from_one_checkpoint_is_told_so() -> None:
    start = "[0] checkpoint: resuming from step-00000000 in /data/runs/run/output/checkpoints"
    wrong = "[0] RuntimeError: Missing key in checkpoint state_dict: optimizer.wte.step"
    looping = facts(state="running", logs={"run-hpz-0": [start, wrong] * 3})
    cause = likeliest(looping)
    assert "3 starts in a row from step-00000000" in cause.title and wrong in cause.evidence
    assert "invoke train.logs --name run --host run-hpz-0" in cause.next_command
    resized = facts(state="running", logs={"run-hpz-0": [start, start]})
    assert "loop" not in likeliest(resized).title


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
        ("jobset", {}, "pending"),
        ("jobset", {"conditions": [{"type": "Suspended", "status": "True"}]}, "pending"),
        ("jobset", {"replicatedJobsStatus": [{"name": "node", "ready": 1}]}, "running"),
        ("jobset", {"conditions": [{"type": "Restarting", "status": "True"}]}, "running"),
        ("jobset", {"conditions": [{"type": "Completed", "status": "True"}]}, "finished"),
        ("jobset", {"conditions": [{"type": "Failed", "status": "True"}]}, "failed"),
        ("trainjob", {}, "pending"),
        ("trainjob", {"conditions": [{"type": "Suspended", "status": "True"}]}, "pending"),
        ("trainjob", {"jobsStatus": [{"name": "node", "ready": 1}]}, "running"),
        ("trainjob", {"conditions": [{"type": "Complete", "status": "True"}]}, "finished"),
        ("trainjob", {"conditions": [{"type": "Failed", "status": "True"}]}, "failed"),
    ],
)
def test_an_operator_s_words_become_one_of_ours(
    launcher: str, status: dict[str, Any], state: str
) -> None:
    assert KINDS[launcher].read({"status": status}).state == state
