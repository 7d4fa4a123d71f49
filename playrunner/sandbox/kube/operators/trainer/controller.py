"""Looks at one TrainJob, makes its JobSet, and writes down how that is."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext, now
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    PODS,
    Key,
    Object,
    is_leaving,
    uid_of,
)
from playrunner.sandbox.kube.operators.installed import TRAINER_MANAGER, all_of, concerns_operator
from playrunner.sandbox.kube.operators.kinds import (
    CLUSTER_RUNTIMES,
    JOB_SETS,
    RUNTIMES,
    TRAIN_JOBS,
)
from playrunner.sandbox.kube.operators.trainer.job_sets import job_set_of, status_of

OWN = "trainer.kubeflow.org/trainjob-controller"
RETRY_SECONDS = 0.5


class TrainJobController(Controller):
    name = "trainjob-controller"

    def watches(self) -> Iterable[Watch]:
        return (
            (TRAIN_JOBS, by_itself),
            (JOB_SETS, by_owner("TrainJob")),
            (PODS, self._all_jobs),
            (DEPLOYMENTS, self._all_jobs),
        )

    def reconcile(self, key: Key) -> float | None:
        train_job = self.context.see(TRAIN_JOBS).get(*key)
        if train_job is None or is_leaving(train_job) or not TRAINER_MANAGER.acts(self.context):
            return None
        if (train_job["spec"].get("managedBy") or OWN) != OWN:
            return None
        job_set = self.context.see(JOB_SETS).get(*key)
        if job_set is not None and not _is_of(job_set, train_job):
            return RETRY_SECONDS  # of a job of the same name that goes
        runtime = runtime_of(self.context, train_job)
        if job_set is None and runtime is None:
            return RETRY_SECONDS
        if job_set is None and runtime is not None:
            job_set = self.context.create(JOB_SETS, job_set_of(train_job, runtime))
        elif job_set is not None:
            self._switch(job_set, train_job)
        status = status_of(train_job, job_set, now())
        if status != (train_job.get("status") or {}):
            self.context.replace(TRAIN_JOBS, {**train_job, "status": status}, "status")
        return None

    def _switch(self, job_set: Object, train_job: Object) -> None:
        suspended = bool(train_job["spec"].get("suspend"))
        if bool(job_set["spec"].get("suspend")) != suspended:
            self.context.patch(JOB_SETS, job_set, {"spec": {"suspend": suspended}})

    def _all_jobs(self, one: Object) -> Iterable[Key]:
        """A change of the controller itself concerns every TrainJob."""
        return all_of(self.context, TRAIN_JOBS) if concerns_operator(TRAINER_MANAGER, one) else ()


def runtime_of(context: ControllerContext, train_job: Object) -> Object | None:
    named = train_job["spec"]["runtimeRef"]
    if named.get("kind") == RUNTIMES.kind:
        return context.see(RUNTIMES).get(train_job["metadata"]["namespace"], named["name"])
    return context.see(CLUSTER_RUNTIMES).get("", named["name"])


def _is_of(job_set: Object, train_job: Object) -> bool:
    owners = job_set["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == uid_of(train_job) for owner in owners)
