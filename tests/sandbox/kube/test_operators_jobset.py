"""What JobSet's controller decides, from a JobSet and its Jobs alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.kube.operators.jobset.progress import Move, next_move
from playrunner.sandbox.kube.operators.jobset.webhooks import complete_job_set, judge_job_set
from playrunner.sandbox.kube.operators.reviews import ReviewRequest

NOW = datetime(2026, 1, 2, tzinfo=UTC)
Object = dict[str, Any]


def job_set(*replicated: Object, status: Object | None = None, **spec: Any) -> Object:
    own = list(replicated) or [replicated_job("node")]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "bert", "namespace": "default", "uid": "u-1"},
        "spec": {"replicatedJobs": own, **spec},
        "status": status or {},
    }


def replicated_job(name: str, replicas: int = 1, **more: Any) -> Object:
    pod = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    job = {"completions": 2, "parallelism": 2, "completionMode": "Indexed", "template": pod}
    return {"name": name, "replicas": replicas, "template": {"spec": job}, **more}


def moved(one: Object, jobs: list[Object] | None = None) -> Move:
    return next_move(one, jobs or [], False, NOW)


def made_jobs(one: Object) -> list[Object]:
    return [made for made in moved(one).create if made["kind"] == "Job"]


def ended(job: Object, kind: str, reason: str = "BackoffLimitExceeded") -> Object:
    held = {"type": kind, "status": "True", "reason": reason, "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
    return {**job, "status": {"conditions": [held]}}


def held(move: Move) -> dict[str, str]:
    conditions = move.status.get("conditions") or ()
    return {one["type"]: one["reason"] for one in conditions if one["status"] == "True"}


def test_a_jobset_gets_its_service_and_jobs_with_names_and_labels() -> None:
    move = moved(job_set(replicated_job("leader"), replicated_job("worker", 2)))
    service, *jobs = move.create
    assert (service["metadata"]["name"], service["spec"]["clusterIP"]) == ("bert", "None")
    assert service["spec"]["selector"] == {"jobset.sigs.k8s.io/jobset-name": "bert"}
    assert [job["metadata"]["name"] for job in jobs] == [
        "bert-leader-0",
        "bert-worker-0",
        "bert-worker-1",
    ]
    pod = jobs[2]["spec"]["template"]
    assert pod["spec"]["subdomain"] == "bert"
    own = {
        name.partition("/")[2]: value
        for name, value in pod["metadata"]["labels"].items()
        if name != "jobset.sigs.k8s.io/job-key"
    }
    assert own == {
        "jobset-name": "bert",
        "jobset-uid": "u-1",
        "replicatedjob-name": "worker",
        "restart-attempt": "0",
        "replicatedjob-replicas": "2",
        "global-replicas": "3",
        "job-index": "1",
        "job-global-index": "2",
        "group-name": "default",
        "group-replicas": "3",
        "job-group-index": "2",
    }


def test_a_failed_job_restarts_all_until_the_restarts_are_used_up() -> None:
    one = job_set(replicated_job("a"), replicated_job("b"), failurePolicy={"maxRestarts": 1})
    first, second = made_jobs(one)
    move = moved(one, [ended(first, "Failed"), second])
    assert (move.status["restarts"], move.status["restartsCountTowardsMax"]) == (1, 1)
    assert held(move) == {"Restarting": "DefaultFailurePolicy"}
    one["status"] = move.status
    after = moved(one, [ended(first, "Failed"), second])
    assert len(after.delete) == 2  # those of the earlier attempt, whatever they are doing
    again = made_jobs(one)
    assert again[0]["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"
    last = moved(one, [ended(again[0], "Failed"), again[1]])
    assert held(last) == {"Failed": "ReachedMaxRestarts"}
    assert last.status["terminalState"] == "Failed"
    one["status"] = last.status
    assert moved(one, again).delete == again  # what still runs goes when it has ended


def test_a_rule_can_restart_without_counting_or_fail_at_once() -> None:
    rules = [
        {"name": "driven_off", "action": "RestartJobSetAndIgnoreMaxRestarts",
         "onJobFailureReasons": ["PodFailurePolicy"]},
        {"name": "late", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
    ]  # fmt: skip
    one = job_set(failurePolicy={"maxRestarts": 0, "rules": rules})
    (job,) = made_jobs(one)
    move = moved(one, [ended(job, "Failed", "PodFailurePolicy")])
    assert move.status["restarts"] == 1 and "restartsCountTowardsMax" not in move.status
    assert held(move) == {"Restarting": "FailurePolicy_driven_off"}
    late = moved(one, [ended(job, "Failed", "DeadlineExceeded")])
    assert held(late) == {"Failed": "FailJobSetFailurePolicyAction"}
    assert held(moved(job_set(), [ended(job, "Failed")])) == {"Failed": "FailedJobs"}


def test_success_is_all_jobs_or_any_of_those_that_count() -> None:
    pair = (replicated_job("a"), replicated_job("b"))
    first, second = made_jobs(job_set(*pair))
    done = [ended(first, "Complete"), second]
    assert held(moved(job_set(*pair), done)) == {}
    assert held(moved(job_set(*pair, successPolicy={"operator": "Any"}), done)) == {
        "Completed": "AllJobsCompleted"
    }
    only = {"operator": "All", "targetReplicatedJobs": ["a"]}
    assert "Completed" in held(moved(job_set(*pair, successPolicy=only), done))


def test_a_suspended_jobset_has_suspended_jobs_until_it_is_resumed() -> None:
    one = job_set(suspend=True)
    (job,) = made_jobs(one)
    assert job["spec"]["suspend"] is True
    move = moved(one, [job])
    assert held(move) == {"Suspended": "SuspendedJobs"}
    resumed = job_set(status=move.status)
    after = moved(resumed, [job])
    assert after.switch == [(job, False)] and held(after) == {}


def test_a_job_waits_for_those_it_depends_on() -> None:
    later = replicated_job("b", dependsOn=[{"name": "a", "status": "Complete"}])
    one = job_set(replicated_job("a"), later)
    (first,) = made_jobs(one)
    assert first["metadata"]["name"] == "bert-a-0"
    move = moved(one, [ended(first, "Complete")])
    assert [made["metadata"]["name"] for made in move.create] == ["bert", "bert-b-0"]


def test_admission_completes_a_jobset_and_refuses_long_names_and_changes() -> None:
    bare = {"name": "node", "template": {"spec": {"template": {"spec": {}}}}}
    answer = complete_job_set(None, _review("CREATE", job_set(bare)))  # type: ignore[arg-type]
    ((_, spec),) = answer.added
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert job["completionMode"] == "Indexed"
    assert job["template"]["spec"]["restartPolicy"] == "OnFailure"
    long = job_set(replicated_job("n" * 50))
    assert "63 characters" in _judged("CREATE", long)
    assert "immutable" in _judged("UPDATE", job_set(), job_set(replicated_job("other")))
    moved_on = replicated_job("node")
    moved_on["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
    assert "immutable" in _judged("UPDATE", job_set(), job_set(moved_on))
    assert _judged("UPDATE", job_set(suspend=True), job_set(moved_on)) == ""  # as Kueue does


def _judged(operation: str, one: Object, after: Object | None = None) -> str:
    review = _review(operation, after or one, one if after else {})
    return judge_job_set(None, review).why_not  # type: ignore[arg-type]


def _review(operation: str, one: Object, before: Object | None = None) -> ReviewRequest:
    return ReviewRequest(operation, one, before or {}, "bert")
