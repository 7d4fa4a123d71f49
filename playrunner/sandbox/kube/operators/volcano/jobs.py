"""Volcano's job controller: looks at one job, asks for the next move, and makes it."""

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
    CONFIG_MAPS,
    DEPLOYMENTS,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
    Key,
    Object,
    is_leaving,
    key_of,
    uid_of,
)  # fmt: skip
from playrunner.sandbox.kube.operators.installed import (
    VOLCANO_CONTROLLERS,
    all_of,
    concerns_operator,
)
from playrunner.sandbox.kube.operators.kinds import COMMANDS, POD_GROUPS, VOLCANO_JOBS
from playrunner.sandbox.kube.operators.volcano import plugins, policies, progress
from playrunner.sandbox.kube.operators.volcano.pods import group_of, version_of
from playrunner.sandbox.kube.operators.volcano.progress import Move, next_move
from playrunner.sandbox.kube.operators.volcano.spec import VolcanoJob, read

COMPONENT = "vc-controller-manager"
_COMPANIONS = {"Service": SERVICES, "ConfigMap": CONFIG_MAPS, "NetworkPolicy": NETWORK_POLICIES}


class VolcanoJobController(Controller):
    """Acts while volcano-controllers has a ready pod."""

    name = "volcano-jobs"

    def prepare(self) -> None:
        self._forget("")

    def watches(self) -> Iterable[Watch]:
        by_job = by_owner(VOLCANO_JOBS.kind)
        return (
            (VOLCANO_JOBS, by_itself),
            (PODS, lambda pod: [*by_job(pod), *self._all_jobs(pod)]),
            (POD_GROUPS, by_job),
            (COMMANDS, _target),
            (DEPLOYMENTS, self._all_jobs),
            *((resource, by_job) for resource in _COMPANIONS.values()),
        )

    def reconcile(self, key: Key) -> float | None:
        incarnation = VOLCANO_CONTROLLERS.incarnation(self.context)
        if incarnation != self._incarnation:
            self._forget(incarnation)
        live = self.context.see(VOLCANO_JOBS).get(*key)
        if live is None or is_leaving(live) or not incarnation:
            return None
        job = read(live)
        pods = self.context.see(PODS).owned_by(uid_of(live))
        requested = policies.requested_action(job, pods, self._lost(job, pods))
        admitted = self._keep_group(job)
        self._keep_companions(job)
        # An order is off the bus when it is heard, and must not be lost when what it asks for fails
        # the first time.
        order = self._orders[uid_of(live)] = self._orders.get(uid_of(live)) or self._command(job)
        move = next_move(job, pods, admitted, requested, order, datetime.now(UTC))
        self._make(job, move)
        del self._orders[uid_of(live)]
        return None if move.remove_job else move.again_seconds

    def _forget(self, incarnation: str) -> None:
        """What it knew of pods is lost with each restart, as in a cluster."""
        self._incarnation = incarnation
        self._known: dict[
            str, dict[str, Object]
        ] = {}  # by the job's uid: its pods by theirs, as last seen
        self._removed: set[str] = set()  # pods that it removed itself
        self._orders: dict[str, str] = {}  # by the job's uid: the command that is not done yet

    def _all_jobs(self, one: Object) -> Iterable[Key]:
        return (
            all_of(self.context, VOLCANO_JOBS)
            if concerns_operator(VOLCANO_CONTROLLERS, one)
            else ()
        )

    def _lost(self, job: VolcanoJob, pods: list[Object]) -> list[Object]:
        """Pods that were removed from outside: evicted, drained, or gone with their node."""
        known = self._known.get(uid_of(job.object), {})
        there = {uid_of(pod): pod for pod in pods}
        gone = [pod for uid, pod in known.items() if uid not in there]
        # Those that are lost stay known until the job's version says that they were heard.
        unheard = {
            uid_of(pod): pod
            for pod in gone
            if version_of(pod) == job.version and uid_of(pod) not in self._removed
        }
        others = {uid: pod for uid, pod in there.items() if uid not in self._removed}
        self._known[uid_of(job.object)] = (
            {**unheard, **others} if job.phase in ("Pending", "Running") else others
        )
        return [*unheard.values(), *(pod for pod in others.values() if is_leaving(pod))]

    def _command(self, job: VolcanoJob) -> str:
        """The command that was issued."""
        for command in self.context.see(COMMANDS).all(job.namespace):
            if not is_leaving(command) and key_of(job.object) in _target(command):
                self.context.delete(COMMANDS, command)
                return str(command.get("action") or "")
        return ""

    def _keep_group(self, job: VolcanoJob) -> bool:
        """Make or remove its pod group; whether that has left the queue."""
        known = self.context.see(POD_GROUPS).get(job.namespace, job.group)
        if job.phase not in ("Pending", "Running"):
            if known is not None and not is_leaving(known):
                self.context.delete(POD_GROUPS, known)
            return False
        if known is None:
            self.context.create(POD_GROUPS, group_of(job))
            return False
        if not is_leaving(known) and known["spec"].get("minMember") != job.least:
            known = self.context.patch(POD_GROUPS, known, {"spec": group_of(job)["spec"]})
        return (
            not is_leaving(known)
            and (known.get("status") or {}).get("phase", "Pending") != "Pending"
        )

    def _keep_companions(self, job: VolcanoJob) -> None:
        over = job.phase in progress.FINISHED
        for wanted in plugins.companions(job):
            resource = _COMPANIONS[wanted["kind"]]
            known = self.context.see(resource).get(*key_of(wanted))
            if over:
                if known is not None and not is_leaving(known):
                    self.context.delete(resource, known)
            elif known is None:
                self.context.create(resource, wanted)
            elif known.get("data") != wanted.get("data"):
                self.context.patch(resource, known, {"data": wanted["data"]})

    def _make(self, job: VolcanoJob, move: Move) -> None:
        if move.action:
            self.context.event(
                job.object,
                "Normal",
                "ExecuteAction",
                f"Start to execute action {move.action}",
                COMPONENT,
            )
        for one in move.delete:
            self._removed.add(uid_of(one))
            self.context.delete(PODS, one)
        for one in move.create:
            made = self.context.create(PODS, one)
            self._known.setdefault(uid_of(job.object), {})[uid_of(made)] = made
        if move.status != job.object.get("status"):
            self.context.replace(VOLCANO_JOBS, {**job.object, "status": move.status}, "status")
        if move.remove_job:
            self.context.delete(VOLCANO_JOBS, job.object)


def _target(command: Object) -> Iterable[Key]:
    target = command.get("target") or {}
    return (
        ((command["metadata"]["namespace"], target["name"]),)
        if target.get("kind") == VOLCANO_JOBS.kind
        else ()
    )
