"""Looks at one JobSet, asks for the next move, and makes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    JOBS,
    PODS,
    SERVICES,
    Key,
    Object,
    is_leaving,
    uid_of,
)
from playrunner.sandbox.kube.operators.installed import JOBSET_MANAGER, all_of, concerns_operator
from playrunner.sandbox.kube.operators.jobset.jobs import REPLICATED, replicated_jobs, subdomain
from playrunner.sandbox.kube.operators.jobset.progress import Move, next_move
from playrunner.sandbox.kube.operators.kinds import JOB_SETS

_MADE = {"Job": JOBS, "Service": SERVICES}
OWN = "jobset.sigs.k8s.io/jobset-controller"


class JobSetController(Controller):
    name = "jobset-controller"

    def watches(self) -> Iterable[Watch]:
        by_set = by_owner("JobSet")
        return (
            (JOB_SETS, by_itself),
            (JOBS, by_set),
            (SERVICES, by_set),
            (PODS, self._all_sets),
            (DEPLOYMENTS, self._all_sets),
        )

    def reconcile(self, key: Key) -> float | None:
        job_set = self.context.see(JOB_SETS).get(*key)
        if job_set is None or is_leaving(job_set) or not JOBSET_MANAGER.acts(self.context):
            return None
        if (job_set["spec"].get("managedBy") or OWN) != OWN:
            return None
        jobs = self.context.see(JOBS).owned_by(uid_of(job_set))
        service = self.context.see(SERVICES).get(key[0], subdomain(job_set))
        move = next_move(job_set, jobs, service is not None, datetime.now(UTC))
        self._make(job_set, move)
        return None if move.remove else move.again_seconds

    def _all_sets(self, one: Object) -> Iterable[Key]:
        """A change of the controller itself concerns every JobSet."""
        return all_of(self.context, JOB_SETS) if concerns_operator(JOBSET_MANAGER, one) else ()

    def _make(self, job_set: Object, move: Move) -> None:
        for job in move.delete:
            if not is_leaving(job):
                # Its name is free for the next attempt when its pods are gone
                self.context.delete(JOBS, job, propagation="Foreground")
        for made in move.create:
            self.context.create(_MADE[made["kind"]], made)
        for job, suspended in move.switch:
            self.context.patch(JOBS, job, _switched(job_set, job, suspended))
        if move.status != (job_set.get("status") or {}):
            self.context.replace(JOB_SETS, {**job_set, "status": move.status}, "status")
            for kind, reason, message in move.events:
                self.context.event(job_set, kind, reason, message, self.name)
        if move.remove:
            self.context.delete(JOB_SETS, job_set)


def _switched(job_set: Object, job: Object, suspended: bool) -> Object:
    """A Job that begins takes what was decided about its pods while it was suspended."""
    if suspended:
        return {"spec": {"suspend": True}}
    name = job["metadata"]["labels"][REPLICATED]
    replicated = next(each for each in replicated_jobs(job_set) if each["name"] == name)
    pod = (replicated["template"].get("spec") or {}).get("template") or {}
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    template = {
        "metadata": {part: meta[part] for part in ("labels", "annotations") if meta.get(part)},
        "spec": {part: spec[part] for part in ("nodeSelector", "tolerations") if spec.get(part)},
    }
    return {"spec": {"suspend": False, "template": template}}
