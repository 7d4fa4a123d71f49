"""The next move for one JobSet, from what is there now: pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playrunner.sandbox.kube.controllers.framework.resources import Object, labels_of
from playrunner.sandbox.kube.operators.jobset.jobs import (
    REPLICATED,
    attempt,
    job_name,
    job_of,
    outcome,
    replicas,
    replicated_jobs,
    service_of,
    subdomain,
)
from playrunner.sandbox.kube.operators.jobset.policies import after_failure, is_enough
from playrunner.sandbox.kube.operators.objects import seconds_since, stamp

_ENDS = {"Completed": "JobSetCompleted", "Failed": "JobSetFailed"}


@dataclass
class Move:
    """What to do, in this order; then look again after so many seconds."""

    status: dict[str, Any]
    delete: list[Object] = field(default_factory=list)
    create: list[Object] = field(default_factory=list)
    switch: list[tuple[Object, bool]] = field(default_factory=list)  # Jobs to suspend or resume
    events: list[tuple[str, str, str]] = field(default_factory=list)  # type, reason, message
    remove: bool = False
    again_seconds: float | None = None

    def hold(self, kind: str, reason: str, message: str, now: datetime, holds: bool = True) -> None:
        """Set a condition, and report it where that is new."""
        value = "True" if holds else "False"
        conditions = list(self.status.get("conditions") or ())
        known = next((one for one in conditions if one["type"] == kind), None)
        if (known is None and not holds) or (known and known["status"] == value):
            return
        conditions = [one for one in conditions if one["type"] != kind]
        conditions.append(
            {
                "type": kind,
                "status": value,
                "reason": reason,
                "message": message,
                "lastTransitionTime": stamp(now),
            }
        )
        self.status["conditions"] = conditions
        bad = holds and kind in ("Failed", "Restarting")
        self.events.append(("Warning" if bad else "Normal", reason, message))

    def end(self, kind: str, reason: str, message: str, now: datetime) -> None:
        self.hold("Restarting", _ENDS[kind], "jobset ended", now, holds=False)
        self.hold(kind, reason, message, now)
        self.status["terminalState"] = kind


def next_move(job_set: Object, jobs: list[Object], has_service: bool, now: datetime) -> Move:
    restarts = int((job_set.get("status") or {}).get("restarts") or 0)
    earlier = [job for job in jobs if attempt(job) < restarts]
    current = [job for job in jobs if attempt(job) >= restarts]
    move = Move({**(job_set.get("status") or {}), "restarts": restarts})
    move.status["replicatedJobsStatus"] = [
        _counts(replicated, current) for replicated in replicated_jobs(job_set)
    ]
    active = [job for job in current if not outcome(job)]
    if ended(job_set):
        move.delete = active
        _expire(job_set, move, now)
        return move
    move.delete = earlier
    if not job_set["spec"].get("suspend") and _all_ready(job_set, move):
        move.hold("Restarting", "JobsReady", "all jobs are ready", now, holds=False)
    failed = [job for job in current if outcome(job) == "Failed"]
    if failed:
        _fail(job_set, failed, move, now)
    elif is_enough(job_set, [job for job in current if outcome(job) == "Complete"]):
        move.end("Completed", "AllJobsCompleted", "jobset completed successfully", now)
    else:
        if subdomain(job_set) and not has_service:
            move.create.append(service_of(job_set))
        _go_on(job_set, jobs, active, move, now)
    return move


def ended(job_set: Object) -> bool:
    conditions = (job_set.get("status") or {}).get("conditions") or ()
    return any(one["type"] in _ENDS and one["status"] == "True" for one in conditions)


def _fail(job_set: Object, failed: list[Object], move: Move, now: datetime) -> None:
    verdict = after_failure(job_set, failed)
    if verdict.action == "Fail":
        move.end("Failed", verdict.reason, verdict.message, now)
        return
    move.status["restarts"] += 1
    if verdict.counts:
        counted = int(move.status.get("restartsCountTowardsMax") or 0)
        move.status["restartsCountTowardsMax"] = counted + 1
    move.hold("Restarting", verdict.reason, verdict.message, now)
    move.events.append(("Warning", verdict.event, verdict.message))


def _go_on(
    job_set: Object, jobs: list[Object], active: list[Object], move: Move, now: datetime
) -> None:
    suspended = bool(job_set["spec"].get("suspend"))
    in_order = (job_set["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    names = {job["metadata"]["name"] for job in jobs}
    for replicated in replicated_jobs(job_set):
        if not _may_start(replicated, move.status["replicatedJobsStatus"], job_set):
            continue
        started = _started(replicated, move)
        if in_order and not suspended and started:
            continue
        move.create += [
            job_of(job_set, replicated, index, move.status["restarts"])
            for index in range(replicas(replicated))
            if job_name(job_set, replicated, index) not in names
        ]
        if in_order and not suspended:
            break
    wrong = [job for job in active if bool(job["spec"].get("suspend")) != suspended]
    move.switch = [(job, suspended) for job in wrong]
    if suspended:
        move.hold("Suspended", "SuspendedJobs", "jobset is suspended", now)
    else:
        move.hold("Suspended", "ResumeJobs", "jobset is resumed", now, holds=False)


def _may_start(replicated: Object, counts: list[Object], job_set: Object) -> bool:
    """Whether those it depends on are ready or complete."""
    wanted = {each["name"]: replicas(each) for each in replicated_jobs(job_set)}
    found = {each["name"]: each for each in counts}
    for other in replicated.get("dependsOn") or ():
        count = found[other["name"]]
        reached = count["succeeded"] + (count["ready"] if other["status"] == "Ready" else 0)
        if reached < wanted[other["name"]]:
            return False
    return True


def _counts(replicated: Object, jobs: list[Object]) -> Object:
    own = [job for job in jobs if labels_of(job).get(REPLICATED) == replicated["name"]]
    going = [job for job in own if not outcome(job)]
    return {
        "name": replicated["name"],
        "ready": sum(map(_is_ready, going)),
        "succeeded": sum(outcome(job) == "Complete" for job in own),
        "failed": sum(outcome(job) == "Failed" for job in own),
        "active": sum(bool((job.get("status") or {}).get("active")) for job in going),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in going),
    }


def _is_ready(job: Object) -> bool:
    spec, status = job["spec"], job.get("status") or {}
    pods = min(int(spec.get("parallelism") or 1), int(spec.get("completions") or 1 << 31))
    return int(status.get("succeeded") or 0) + int(status.get("ready") or 0) >= pods


def _started(replicated: Object, move: Move) -> bool:
    counts = {each["name"]: each for each in move.status["replicatedJobsStatus"]}
    count = counts[replicated["name"]]
    return bool(count["ready"] + count["succeeded"] + count["failed"] >= replicas(replicated))


def _all_ready(job_set: Object, move: Move) -> bool:
    return all(_started(replicated, move) for replicated in replicated_jobs(job_set))


def _expire(job_set: Object, move: Move, now: datetime) -> None:
    ttl = job_set["spec"].get("ttlSecondsAfterFinished")
    if ttl is None:
        return
    end = next(one for one in job_set["status"]["conditions"] if one["type"] in _ENDS)
    left = ttl - seconds_since(end["lastTransitionTime"], now)
    move.remove, move.again_seconds = left <= 0, max(0.1, left)
