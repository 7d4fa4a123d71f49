"""Makes a Workload of each suspended job that names a queue, and starts the job when the queue has
room for all its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch
from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.pods import condition
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    JOBS,
    PODS,
    Key,
    Object,
    Resource,
    is_leaving,
    labels_of,
    owned,
    uid_of,
)
from playrunner.sandbox.kube.operators.installed import KUEUE_MANAGER, concerns_operator
from playrunner.sandbox.kube.operators.kinds import (
    CLUSTER_QUEUES,
    JOB_SETS,
    LOCAL_QUEUES,
    PYTORCH_JOBS,
    TRAIN_JOBS,
    WORKLOADS,
)
from playrunner.sandbox.kube.operators.kueue.demand import asked_by, pods_of, why_not
from playrunner.sandbox.kube.operators.trainer.controller import runtime_of

QUEUE = "kueue.x-k8s.io/queue-name"
MANAGED: tuple[Resource, ...] = (JOBS, JOB_SETS, PYTORCH_JOBS, TRAIN_JOBS)
ALL: Key = ("", "queues")  # jobs compete, so all of them are looked at together
AGAIN_SECONDS = 1.0
_ENDS = ("Complete", "Completed", "Succeeded", "Failed")


class KueueController(Controller):
    name = "kueue"

    def watches(self) -> Iterable[Watch]:
        always: Callable[[Object], Iterable[Key]] = lambda one: [ALL]  # noqa: E731
        queued: Callable[[Object], Iterable[Key]] = lambda one: (  # noqa: E731
            [ALL] if QUEUE in labels_of(one) else ()
        )
        own: Callable[[Object], Iterable[Key]] = lambda one: (  # noqa: E731
            [ALL] if concerns_operator(KUEUE_MANAGER, one) else ()
        )
        return (
            *((resource, queued) for resource in MANAGED),
            *((resource, always) for resource in (WORKLOADS, LOCAL_QUEUES, CLUSTER_QUEUES)),
            (PODS, own),
            (DEPLOYMENTS, own),
        )

    def reconcile(self, key: Key) -> float | None:
        if not KUEUE_MANAGER.acts(self.context):
            return None
        self._open_queues()
        jobs = self._jobs()
        for resource, job in jobs:
            if self._workload(job) is None and _is_suspended(job) and not _is_over(job):
                self._declare(resource, job)
        waiting = [pair for pair in jobs if self._step(*pair)]
        return AGAIN_SECONDS if waiting else None

    def _jobs(self) -> list[tuple[Resource, Object]]:
        """The oldest first: whoever came first is admitted first."""
        jobs = [
            (resource, {**job, "kind": resource.kind})
            for resource in MANAGED
            for job in self.context.see(resource).all()
            if QUEUE in labels_of(job) and not is_leaving(job)
        ]
        return sorted(jobs, key=lambda pair: str(pair[1]["metadata"]["creationTimestamp"]))

    def _declare(self, resource: Resource, job: Object) -> None:
        groups = self._groups(job)
        made = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "metadata": {
                "name": f"{resource.kind.lower()}-{job['metadata']['name']}",
                "namespace": job["metadata"]["namespace"],
                "ownerReferences": owned({**job, "apiVersion": resource.api_version}),
            },
            "spec": {
                "queueName": labels_of(job)[QUEUE],
                "podSets": [
                    {"name": name, "count": count, "template": pod} for name, count, pod in groups
                ],
            },
        }
        self.context.create(WORKLOADS, made)

    def _step(self, resource: Resource, job: Object) -> bool:
        """One job's next step; whether it still waits."""
        workload = self._workload(job)
        if workload is None:
            return False
        if _is_over(job):
            if condition(workload, "Finished") != "True":
                self._say(workload, "Finished", "True", "JobFinished", "Job finished")
            return False
        if condition(workload, "Admitted") != "True":
            problem = self._problem(job)
            if problem:
                if _message(workload, "QuotaReserved") != problem:
                    self._say(workload, "QuotaReserved", "False", "Pending", problem)
                return True
            queue = self._cluster_queue(job)
            text = f"Quota reserved in ClusterQueue {queue['metadata']['name'] if queue else ''}"
            self._say(workload, "QuotaReserved", "True", "QuotaReserved", text)
            workload = self._workload(job) or workload
            self._say(workload, "Admitted", "True", "Admitted", "The workload is admitted")
        if _is_suspended(job):
            self.context.patch(resource, job, _started(job))
        return False

    def _problem(self, job: Object) -> str:
        name, namespace = labels_of(job)[QUEUE], job["metadata"]["namespace"]
        if self.context.see(LOCAL_QUEUES).get(namespace, name) is None:
            return f"LocalQueue {name} doesn't exist"
        queue = self._cluster_queue(job)
        if queue is None:
            return "ClusterQueue doesn't exist"
        groups = self._groups(job)
        held: Counter[str] = Counter()
        for workload in self.context.see(WORKLOADS).all():
            if condition(workload, "Admitted") == "True" and not condition(workload, "Finished"):
                sets = (workload["spec"].get("podSets")) or ()
                held += asked_by((one["name"], one["count"], one["template"]) for one in sets)
        return why_not(asked_by(groups), held, queue, groups[0][0] if groups else "main")

    def _groups(self, job: Object) -> list[tuple[str, int, Object]]:
        runtime = runtime_of(self.context, job) if job["kind"] == TRAIN_JOBS.kind else None
        return pods_of(job, runtime)

    def _cluster_queue(self, job: Object) -> Object | None:
        local = self.context.see(LOCAL_QUEUES).get(
            job["metadata"]["namespace"], labels_of(job)[QUEUE]
        )
        name = ((local or {}).get("spec") or {}).get("clusterQueue") or ""
        return self.context.see(CLUSTER_QUEUES).get("", name)

    def _workload(self, job: Object) -> Object | None:
        return next(iter(self.context.see(WORKLOADS).owned_by(uid_of(job))), None)

    def _open_queues(self) -> None:
        for queue in self.context.see(CLUSTER_QUEUES).all():
            if condition(queue, "Active") != "True":
                self._say_of(
                    CLUSTER_QUEUES, queue, "Active", "True", "Ready", "Can admit workloads"
                )
        for queue in self.context.see(LOCAL_QUEUES).all():
            there = self.context.see(CLUSTER_QUEUES).get("", queue["spec"]["clusterQueue"])
            wanted = ("True", "Ready", "Can submit new workloads to localQueue")
            if there is None:
                wanted = ("False", "ClusterQueueDoesNotExist", "ClusterQueue doesn't exist")
            if condition(queue, "Active") != wanted[0]:
                self._say_of(LOCAL_QUEUES, queue, "Active", *wanted)

    def _say(self, workload: Object, kind: str, status: str, reason: str, message: str) -> None:
        self._say_of(WORKLOADS, workload, kind, status, reason, message)

    def _say_of(
        self, resource: Resource, obj: Object, kind: str, status: str, reason: str, message: str
    ) -> None:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        kept = [each for each in conditions if each.get("type") != kind]
        new = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": now(),
        }
        self.context.patch_status(resource, obj, {"conditions": [*kept, new]})


def _is_suspended(job: Object) -> bool:
    spec = job.get("spec") or {}
    return bool(spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend"))


def _started(job: Object) -> Object:
    if job["kind"] == PYTORCH_JOBS.kind:
        return {"spec": {"runPolicy": {"suspend": False}}}
    return {"spec": {"suspend": False}}


def _is_over(job: Object) -> bool:
    return any(condition(job, kind) == "True" for kind in _ENDS)


def _message(obj: Object, kind: str) -> str:
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind:
            return str(each.get("message") or "")
    return ""
