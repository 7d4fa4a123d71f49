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
from playrunner.sandbox.kube.operators.replicated.progress import Move, Seen, next_move
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
        found = self.world.see(self.dialect.resource).get(*key)
        incarnation = self.dialect.operator.incarnation(self.world)
        if incarnation != self._incarnation:
            self._incarnation = incarnation
            self._replaced.clear()
        if found is None or is_leaving(found) or not incarnation:
            return None
        job = self.dialect.read(found)
        move = next_move(self.dialect, job, self._seen(job), datetime.now(UTC))
        self._make(job, move)
        return None if move.remove_job else move.again_seconds

    def _all_jobs(self, one: Object) -> Iterable[Key]:
        """A change of the operator itself concerns every job."""
        return (
            all_of(self.world, self.dialect.resource)
            if concerns_operator(self.dialect.operator, one)
            else ()
        )

    def _seen(self, job: ReplicaJob) -> Seen:
        uid = uid_of(job.object)
        group = self._keep_group(job)
        return Seen(
            pods=self.world.see(PODS).owned_by(uid),
            services=self.world.see(SERVICES).owned_by(uid),
            restarts=self._replaced.get(uid, 0),
            group=job.name if group else "",
            admitted=group is None
            or (group.get("status") or {}).get("phase", "Pending") != "Pending",
        )

    def _keep_group(self, job: ReplicaJob) -> Object | None:
        """The pod group of a job that has work to do, if this operator schedules in gangs."""
        known = self.world.see(POD_GROUPS).get(*key_of(job.object))
        if job.policy.suspend or ended((job.object.get("status") or {}).get("conditions") or []):
            if (
                known is not None
                and uid_of(job.object) == (controller_of(known) or {}).get("uid")
                and not is_leaving(known)
            ):
                self.world.delete(POD_GROUPS, known)
            return None
        in_gangs = (
            self.dialect.operator.argument(self.world, "--gang-scheduler-name") == SCHEDULER_NAME
        )
        if known is not None or not in_gangs:
            return known if in_gangs else None
        wish = job.policy.scheduling
        pods = [
            pod_of(self.dialect, job, one, index, job.name)
            for one in job.replicas
            for index in range(one.count)
        ]
        least = int(wish.get("minAvailable") or job.total)
        queue, priority = wish.get("queue") or "default", wish.get("priorityClass")
        made = pod_group(job.object, job.name, least, pods, queue=queue, priorityClassName=priority)
        return self.world.create(POD_GROUPS, made)

    def _make(self, job: ReplicaJob, move: Move) -> None:
        if move.replaced:
            self._write_status(job, move.status)  # before they go: afterwards nobody would know why
        for one in move.delete:
            if not is_leaving(one):
                self.world.delete(_MADE[one["kind"]], one)
                self._say_did(job, "Delete", one)
        self._replaced[uid_of(job.object)] = (
            self._replaced.get(uid_of(job.object), 0) + move.replaced
        )
        for one in move.create:
            self.world.create(_MADE[one["kind"]], one)
            self._say_did(job, "Create", one)
        self._make_autoscaler(job)
        if not move.replaced:
            self._write_status(job, move.status)
        if move.remove_job:
            self.world.delete(self.dialect.resource, job.object)

    def _make_autoscaler(self, job: ReplicaJob) -> None:
        wanted = self.dialect.autoscaler(job)
        if wanted is None or (job.object.get("status") or {}).get("conditions"):
            return  # once, with the job's first look
        try:
            self.world.api.call("POST", AUTOSCALERS.path(key_of(job.object)[0]), wanted)
        except ApiError as error:
            if not error.passes:
                raise

    def _write_status(self, job: ReplicaJob, status: Object) -> None:
        before: Conditions = (job.object.get("status") or {}).get("conditions") or []
        if status == job.object.get("status"):
            return
        self.world.replace(
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
        self.world.event(job.object, kind, reason, message, self.dialect.component)
