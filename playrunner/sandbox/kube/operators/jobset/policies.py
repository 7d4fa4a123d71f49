"""What failed and finished Jobs mean for their JobSet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of
from playrunner.sandbox.kube.operators.jobset.jobs import REPLICATED, replicas, replicated_jobs


@dataclass(frozen=True)
class Verdict:
    """After a failure: a restart that counts or not, or the end."""

    action: str  # Fail | Restart
    reason: str
    message: str
    counts: bool = True
    event: str = ""


def after_failure(job_set: Object, failed: list[Object]) -> Verdict:
    policy = job_set["spec"].get("failurePolicy")
    if policy is None:
        return Verdict(
            "Fail",
            "FailedJobs",
            _with_first("jobset failed due to one or more job failures", _first(failed)),
        )
    rule, job = _matching(policy.get("rules") or [], failed)
    action = rule["action"] if rule else "RestartJobSet"
    if action == "FailJobSet":
        text = _with_first("applying FailJobSet failure policy action", job)
        return Verdict("Fail", "FailJobSetFailurePolicyAction", text)
    counts = action != "RestartJobSetAndIgnoreMaxRestarts"
    done = int((job_set.get("status") or {}).get("restartsCountTowardsMax") or 0)
    if counts and done >= int(policy.get("maxRestarts") or 0):
        text = _with_first("jobset failed due to reaching max number of restarts", job)
        return Verdict("Fail", "ReachedMaxRestarts", text)
    return Verdict(
        "Restart",
        f"FailurePolicy_{rule['name']}" if rule else "DefaultFailurePolicy",
        _with_first(f"applying {action} failure policy action", job),
        counts,
        f"{action}FailurePolicyAction",
    )


def is_enough(job_set: Object, succeeded: list[Object]) -> bool:
    policy = job_set["spec"].get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [
        replicated["name"] for replicated in replicated_jobs(job_set)
    ]
    done = sum(labels_of(job).get(REPLICATED) in targets for job in succeeded)
    if policy.get("operator") == "Any":
        return done >= 1
    wanted = sum(replicas(each) for each in replicated_jobs(job_set) if each["name"] in targets)
    return done >= wanted


def _matching(rules: list[Object], failed: list[Object]) -> tuple[Object | None, Object]:
    for rule in rules:
        fitting = [job for job in failed if _fits(rule, job)]
        if fitting:
            return rule, _first(fitting)
    return None, _first(failed)


def _fits(rule: Object, job: Object) -> bool:
    condition = _failure(job)
    reasons, patterns = rule.get("onJobFailureReasons"), rule.get("onJobFailureMessagePatterns")
    targets = rule.get("targetReplicatedJobs")
    return (
        (not reasons or condition.get("reason") in reasons)
        and (not patterns or any(re.search(one, str(condition.get("message"))) for one in patterns))
        and (not targets or labels_of(job).get(REPLICATED) in targets)
    )


def _failure(job: Object) -> Object:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == "Failed"), {})


def _first(jobs: list[Object]) -> Object:
    return min(jobs, key=lambda job: str(_failure(job).get("lastTransitionTime") or ""))


def _with_first(message: str, job: Object) -> str:
    return f"{message} (first failed job: {job['metadata']['name']})"
