"""What Volcano's job controller does when pods fail, by the policies of a job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kube.operator_jobs import volcano_job
from tests.support.kube.volcano_moves import after, in_phases, moved, phase, running

RESTART = {
    "policies": [
        {"event": "PodEvicted", "action": "RestartJob"},
        {"event": "PodFailed", "action": "RestartJob"},
    ]
}


def test_a_failed_pod_restarts_the_whole_job_where_the_policy_says_so() -> None:
    job = running(volcano_job("a", **RESTART))
    there = in_phases(volcano_job("a"), "Failed", "Running", code=1)
    begun = moved(job, there)
    assert (phase(begun), begun.action, begun.status["retryCount"]) == (
        "Restarting",
        "RestartJob",
        1,
    )
    job = after(job, begun)
    killing = moved(job, there)
    assert [pod["metadata"]["name"] for pod in killing.delete] == ["a-role-0-0", "a-role-1-0"]
    job = after(job, moved(job, []))
    assert job["status"]["state"]["phase"] == "Pending"
    again = moved(job, [])
    assert [pod["metadata"]["annotations"]["volcano.sh/job-version"] for pod in again.create] == [
        "1",
        "1",
    ]
    assert [condition["status"] for condition in again.status["conditions"]] == [
        "Running",
        "Restarting",
        "Pending",
    ]


def test_a_job_that_was_restarted_too_often_fails() -> None:
    job = running(volcano_job("a", maxRetry=1, **RESTART))
    there = in_phases(volcano_job("a"), "Failed", "Running", code=1)
    job = after(job, moved(job, there))
    assert phase(moved(job, [])) == "Failed"


def test_a_pod_that_somebody_removed_counts_as_evicted() -> None:
    job = running(volcano_job("a", **RESTART))
    first, second = in_phases(volcano_job("a"), "Running", "Running")
    assert phase(moved(job, [first], lost=[second])) == "Restarting"
    plain = running(volcano_job("a"))
    move = moved(plain, [first], lost=[second])
    assert (phase(move), [one["metadata"]["name"] for one in move.create]) == (
        "Running",
        ["a-role-1-0"],
    )


def test_a_completed_task_may_complete_the_job() -> None:
    main = {"policies": [{"event": "TaskCompleted", "action": "CompleteJob"}]}
    job = running(volcano_job("a", tasks={"main": main, "helper": {}}))
    there = in_phases(volcano_job("a", tasks={"main": {}, "helper": {}}), "Succeeded", "Running")
    job = after(job, moved(job, there))
    assert job["status"]["state"]["phase"] == "Completing"
    assert [one["metadata"]["name"] for one in moved(job, there).delete] == ["a-helper-0"]
    ended = moved(job, there[:1])
    assert (phase(ended), ended.status["succeeded"]) == ("Completed", 1)


@pytest.mark.parametrize(
    ("policy", "code", "action"),
    [
        ({"event": "PodFailed", "action": "AbortJob"}, 3, "AbortJob"),
        ({"events": ["PodEvicted", "PodFailed"], "action": "TerminateJob"}, 3, "TerminateJob"),
        ({"exitCode": 3, "action": "RestartJob"}, 3, "RestartJob"),
        ({"exitCode": 4, "action": "RestartJob"}, 3, ""),
        ({"event": "*", "action": "RestartJob"}, 3, "RestartJob"),
        ({"event": "PodEvicted", "action": "RestartJob"}, 3, ""),
    ],
)
def test_policies_choose_by_event_or_by_exit_code(
    policy: dict[str, Any], code: int, action: str
) -> None:
    job = running(volcano_job("a", policies=[policy]))
    assert moved(job, in_phases(volcano_job("a"), "Failed", "Running", code=code)).action == action


def test_a_tasks_own_policy_comes_before_the_jobs() -> None:
    own = {"policies": [{"event": "PodFailed", "action": "TerminateJob"}]}
    job = running(volcano_job("a", tasks={"x": own, "y": {}}, **RESTART))
    assert (
        moved(
            job, in_phases(volcano_job("a", tasks={"x": {}, "y": {}}), "Failed", "Running", code=1)
        ).action
        == "TerminateJob"
    )


def test_only_the_pod_that_failed_is_restarted_where_the_policy_says_so() -> None:
    job = running(volcano_job("a", policies=[{"event": "PodFailed", "action": "RestartPod"}]))
    move = moved(job, in_phases(volcano_job("a"), "Failed", "Running", code=1))
    assert (phase(move), [one["metadata"]["name"] for one in move.delete]) == (
        "Running",
        ["a-role-0-0"],
    )
