"""Looks at one job of numbered replicas, asks for the next move, and makes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    PODS,
    SERVICES,
    Key,
    Object,
    controller_of,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.operators.installed import all_of, concerns_operator
from playrunner.sandbox.kube.operators.kinds import AUTOSCALERS, POD_GROUPS
from playrunner.sandbox.kube.operators.pod_group import SCHEDULER_NAME, pod_group
from playrunner.sandbox.kube.operators.replicated.conditions import Conditions, ended
from playrunner.sandbox.kube.operators.replicated.pods import pod_of
from playrunner.sandbox.kube.operators.replicated.progress import JobObjects, Move, next_move
from playrunner.sandbox.kube.operators.replicated.spec import Dialect, ReplicaJob

_MADE = {"Pod": PODS, "Service": SERVICES}
_WARNINGS = ("Failed", "Restarting")


class ReplicaJobController(Controller):
    """Subclasses name their dialect."""

    dialect: Dialect

    def prepare(self) -> None:
        self._incarnation = ""
        self._replaced: dict[
            str, int
        ] = {}  # by the job's uid: lost when the operator restarts, as in a cluster

    def watches(self) -> Iterable[Watch]:
        by_job = by_owner(self.dialect.noun)
        return (
            (self.dialect.resource, by_itself),
            (PODS, lambda pod: [*by_job(pod), *self._all_jobs(pod)]),
            (SERVICES, by_job),
            (POD_GROUPS, by_job),
            (DEPLOYMENTS, self._all_jobs),
        )

    def reconcile(self, key: Key) -> float | None:
        live = self.context.see(self.dialect.resource).get(*key)
        incarnation = self.dialect.operator.incarnation(self.context)
        if incarnation != self._incarnation:
            self._incarnation = incarnation
            self._replaced.clear()
            self.dialect = self.started()
        if live is None or is_leaving(live) or not incarnation:
            return None
        job = self.dialect.read(live)
        move = next_move(self.dialect, job, self._seen(job), datetime.now(UTC))
        self._make(job, move)
        return None if move.remove_job else move.again_seconds

    def started(self) -> Dialect:
        """The dialect as the operator speaks it with the files that it reads when it starts."""
        return self.dialect

    def _all_jobs(self, one: Object) -> Iterable[Key]:
        """A change of the operator itself concerns every job."""
        return (
            all_of(self.context, self.dialect.resource)
            if concerns_operator(self.dialect.operator, one)
            else ()
        )

    def _seen(self, job: ReplicaJob) -> JobObjects:
        uid = uid_of(job.object)
        group = self._keep_group(job)
        return JobObjects(
            pods=self.context.see(PODS).owned_by(uid),
            services=self.context.see(SERVICES).owned_by(uid),
            restarts=self._replaced.get(uid, 0),
            group=job.name if group else "",
            admitted=group is None
            or (group.get("status") or {}).get("phase", "Pending") != "Pending",
        )

    def _keep_group(self, job: ReplicaJob) -> Object | None:
        """The pod group of a job that has work to do, if this operator schedules in gangs."""
        known = self.context.see(POD_GROUPS).get(*key_of(job.object))
        if job.policy.suspend or ended((job.object.get("status") or {}).get("conditions") or []):
            if (
                known is not None
                and uid_of(job.object) == (controller_of(known) or {}).get("uid")
                and not is_leaving(known)
            ):
                self.context.delete(POD_GROUPS, known)
            return None
        in_gangs = (
            self.dialect.operator.argument(self.context, "--gang-scheduler-name") == SCHEDULER_NAME
        )
        if known is not None or not in_gangs:
            return known if in_gangs else None
        scheduling = job.policy.scheduling
        pods = [
            pod_of(self.dialect, job, one, index, job.name)
            for one in job.replicas
            for index in range(one.count)
        ]
        least = int(scheduling.get("minAvailable") or job.total)
        queue, priority = scheduling.get("queue") or "default", scheduling.get("priorityClass")
        made = pod_group(job.object, job.name, least, pods, queue=queue, priorityClassName=priority)
        return self.context.create(POD_GROUPS, made)

    def _make(self, job: ReplicaJob, move: Move) -> None:
        if move.replaced:
            self._write_status(
                job, move.status
            )  # before they go: afterwards the reason would be lost
        for obj in move.delete:
            if not is_leaving(obj):
                self.context.delete(_MADE[obj["kind"]], obj)
                self._say_did(job, "Delete", obj)
        self._replaced[uid_of(job.object)] = (
            self._replaced.get(uid_of(job.object), 0) + move.replaced
        )
        for obj in move.create:
            self.context.create(_MADE[obj["kind"]], obj)
            self._say_did(job, "Create", obj)
        self._make_autoscaler(job)
        if not move.replaced:
            self._write_status(job, move.status)
        if move.remove_job:
            self.context.delete(self.dialect.resource, job.object)

    def _make_autoscaler(self, job: ReplicaJob) -> None:
        wanted = self.dialect.autoscaler(job)
        if wanted is None or (job.object.get("status") or {}).get("conditions"):
            return  # once, with the job's first look
        try:
            self.context.api.call("POST", AUTOSCALERS.path(key_of(job.object)[0]), wanted)
        except ApiError as error:
            if not error.passes:
                raise

    def _write_status(self, job: ReplicaJob, status: Object) -> None:
        before: Conditions = (job.object.get("status") or {}).get("conditions") or []
        if status == job.object.get("status"):
            return
        self.context.replace(
            self.dialect.resource,
            {**job.object, "status": status},
            "" if self.dialect.whole_status else "status",
        )
        for one in status["conditions"]:
            if one not in before and one["status"] == "True":
                kind = "Warning" if one["type"] in _WARNINGS else "Normal"
                self._say(job, kind, one["reason"], one["message"])

    def _say_did(self, job: ReplicaJob, verb: str, one: Object) -> None:
        kind, name = one["kind"], one["metadata"]["name"]
        self._say(job, "Normal", f"Successful{verb}{kind}", f"{verb}d {kind.lower()}: {name}")

    def _say(self, job: ReplicaJob, kind: str, reason: str, message: str) -> None:
        self.context.event(job.object, kind, reason, message, self.dialect.component)
