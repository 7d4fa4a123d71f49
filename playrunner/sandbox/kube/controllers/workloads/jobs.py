"""Jobs: pods until enough of them have succeeded, too many have failed, or the time is over."""

from __future__ import annotations

import time
from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.controller_context import now, seconds_since
from playrunner.sandbox.kube.controllers.framework.pods import is_active, is_over, is_ready
from playrunner.sandbox.kube.controllers.framework.resources import (
    JOBS,
    PODS,
    Key,
    Object,
    is_leaving,
    uid_of,
)
from playrunner.sandbox.kube.controllers.workloads import job_plan
from playrunner.sandbox.kube.controllers.workloads.job_plan import INDEX, Tally, is_indexed
from playrunner.sandbox.kube.controllers.workloads.replicas import create_pod, suffix

FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = (
    0.2,
    3.0,
)  # after a failed pod; ten seconds to six minutes in the real world


class JobController(Controller):
    """What ended is remembered by uid, so that pods that are deleted afterwards still count."""

    name = "jobs"

    def watches(self) -> Iterable[Watch]:
        return ((JOBS, by_itself), (PODS, by_owner("Job")))

    def prepare(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._not_before: dict[str, float] = {}

    def reconcile(self, key: Key) -> float | None:
        job = self.context.see(JOBS).get(*key)
        if job is None or is_leaving(job):
            return None
        if (
            job["spec"].get("managedBy") or "kubernetes.io/job-controller"
        ) != "kubernetes.io/job-controller":
            return None
        if job_plan.is_finished(job):
            return self._retire(job)
        pods = self.context.see(PODS).owned_by(uid_of(job))
        tally = self._tallies.setdefault(uid_of(job), Tally.of(job))
        failures = tally.failed
        tally.count(job, pods)
        if tally.failed > failures:
            pause = min(FIRST_PAUSE_SECONDS * 2.0 ** (tally.failed - 1), MOST_PAUSE_SECONDS)
            self._not_before[uid_of(job)] = time.monotonic() + pause
        outcome = job_plan.outcome(job, tally, pods)
        active = [pod for pod in pods if is_active(pod)]
        if outcome is not None or job["spec"].get("suspend"):
            return self._wind_up(job, tally, pods, outcome)
        again = self._keep_going(job, tally, active)
        active = [pod for pod in self.context.see(PODS).owned_by(uid_of(job)) if is_active(pod)]
        self._tell(
            job,
            tally,
            active,
            [condition for condition in _conditions(job) if condition["type"] != "Suspended"],
        )
        deadline = job["spec"].get("activeDeadlineSeconds")
        left = (
            deadline - seconds_since((job.get("status") or {}).get("startTime") or now()) + 0.1
            if deadline
            else None
        )
        return min((seconds for seconds in (again, left) if seconds is not None), default=None)

    def _keep_going(self, job: Object, tally: Tally, active: list[Object]) -> float | None:
        """Start and end pods until the right ones run; how long to wait with it after a failure."""
        missing, surplus = job_plan.missing(job, tally, active)
        for pod in surplus:
            tally.seen.add(uid_of(pod))  # not its failure
            self.context.delete(PODS, pod)
        wait = self._not_before.get(uid_of(job), 0.0) - time.monotonic()
        if missing and wait > 0:
            return wait
        for index in missing:
            self._create(job, index)
        return None

    def _create(self, job: Object, index: int | None) -> None:
        name = job["metadata"]["name"]
        if index is None:
            create_pod(self.context, job, JOBS, f"{name}-{suffix()}")
            return
        template = job_plan.indexed_template(job["spec"]["template"], name, index)
        owner = {**job, "spec": {**job["spec"], "template": template}}
        mark = {INDEX: str(index)}
        create_pod(
            self.context, owner, JOBS, f"{name}-{index}-{suffix()}", annotations=mark, labels=mark
        )

    def _wind_up(
        self, job: Object, tally: Tally, pods: list[Object], outcome: job_plan.JobOutcome | None
    ) -> float | None:
        """Delete the pods that still run and announce the outcome; report it once none does."""
        for pod in filter(is_active, pods):
            if outcome is None:
                tally.seen.add(uid_of(pod))  # suspending a job is not its pods' failure
            self.context.delete(PODS, pod)
        running = [pod for pod in pods if not is_over(pod)]
        if outcome is None:
            suspended = _condition("Suspended", "True", "JobSuspended", "Job suspended")
            known = [
                condition
                for condition in _conditions(job)
                if condition["type"] == "Suspended" and condition["status"] == "True"
            ]
            self._tell(job, tally, [], known or [suspended])
            return None
        target = next(
            (condition for condition in _conditions(job) if condition["type"] == outcome.target),
            None,
        )
        if target is None or running:  # the server takes the end only after its announcement
            announced = _condition(outcome.target, "True", outcome.reason, outcome.message)
            self._tell(job, tally, [], [target or announced])
            return None
        final = _condition(outcome.kind, "True", outcome.reason, outcome.message)
        self._tell(job, tally, [], [target, final], over=outcome.kind == "Complete")
        kind, said = (
            ("Normal", "Completed") if outcome.kind == "Complete" else ("Warning", outcome.reason)
        )
        self.context.event(job, kind, said, outcome.message or "Job completed", "job-controller")
        return None

    def _tell(
        self,
        job: Object,
        tally: Tally,
        active: list[Object],
        conditions: list[Object],
        over: bool = False,
    ) -> None:
        suspended = bool(job["spec"].get("suspend"))
        known = (job.get("status") or {}).get("startTime")
        status: Object = {
            "active": len(active),
            "ready": sum(map(is_ready, active)),
            "succeeded": tally.succeeded,
            "failed": tally.failed,
            "terminating": 0,
            "startTime": None if suspended and not known else known or now(),
            "conditions": conditions,
        }
        if is_indexed(job):
            status["completedIndexes"] = job_plan.ranges(tally.done)
        if over:
            status["completionTime"] = now()
        self.context.patch_status(JOBS, job, status)

    def _retire(self, job: Object) -> float | None:
        self._tallies.pop(uid_of(job), None)
        patience = job["spec"].get("ttlSecondsAfterFinished")
        if patience is None:
            return None
        final = next(
            one
            for one in _conditions(job)
            if one["type"] in ("Complete", "Failed") and one["status"] == "True"
        )
        left = patience - seconds_since(final["lastTransitionTime"])
        if left > 0:
            return float(left) + 0.1
        self.context.delete(JOBS, job)
        return None


def _conditions(job: Object) -> list[Object]:
    return (job.get("status") or {}).get("conditions") or []


def _condition(kind: str, value: str, reason: str, message: str) -> Object:
    moment = now()
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
    }
