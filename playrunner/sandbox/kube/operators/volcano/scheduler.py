"""Volcano's scheduler: pod groups leave their queue when there is room, and then all of a gang is
placed, or none of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from playrunner.sandbox.kube.controllers.framework.controller import Watch, for_reading
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    DEPLOYMENTS,
    NODES,
    PODS,
    STORAGE_CLASSES,
    VOLUMES,
    Key,
    Object,
    is_leaving,
    key_of,
    uid_of,
)  # fmt: skip
from playrunner.sandbox.kube.controllers.scheduling.fit import Amounts
from playrunner.sandbox.kube.controllers.scheduling.free_capacity import Floor
from playrunner.sandbox.kube.controllers.scheduling.scheduler import Scheduler
from playrunner.sandbox.kube.operators.installed import VOLCANO_SCHEDULER, all_of, concerns_operator
from playrunner.sandbox.kube.operators.kinds import POD_GROUPS, QUEUES
from playrunner.sandbox.kube.operators.pod_group import SCHEDULER_NAME, added, group_of, read, total
from playrunner.sandbox.kube.operators.volcano import gang, queues

OVERCOMMIT = Decimal(
    "1.2"
)  # groups are let in for so much of the cluster: what ends soon makes room


class VolcanoScheduler(Scheduler):
    """One group at a time, on the same floor as the default scheduler."""

    name = "volcano-scheduler"

    def watches(self) -> Iterable[Watch]:
        return (
            (POD_GROUPS, lambda group: [key_of(group), *self._waiting_groups(group)]),
            (PODS, self._concerned_groups),
            (NODES, self._waiting_groups),
            (QUEUES, self._waiting_groups),
            (CLAIMS, self._waiting_groups),
            (DEPLOYMENTS, self._concerned_groups),
            (VOLUMES, for_reading),
            (STORAGE_CLASSES, for_reading),
        )

    def reconcile(self, key: Key) -> float | None:
        group = self.context.see(POD_GROUPS).get(*key)
        if group is None or is_leaving(group) or not VOLCANO_SCHEDULER.acts(self.context):
            return None
        pods = [pod for pod in self.context.see(PODS).all(key[0]) if group_of(pod) == key[1]]
        refused = self._not_let_in(group) if queues.phase_of(group) == "Pending" else ""
        why_not = (
            gang.unschedulable(group, pods, len(pods)) if refused else self._place(group, pods)
        )
        pods = [pod for pod in self.context.see(PODS).all(key[0]) if group_of(pod) == key[1]]
        phase = gang.phase_after(group, pods, admitted=not refused)
        session = VOLCANO_SCHEDULER.incarnation(self.context)
        status = gang.status_of(group, pods, phase, why_not, session, datetime.now(UTC))
        if status != group.get("status"):
            self.context.replace(
                POD_GROUPS, {**group, "status": status}
            )  # the whole object: its kind has no status of its own
            if why_not:
                self.context.event(
                    group,
                    "Normal" if refused else "Warning",
                    "Unschedulable",
                    refused or why_not,
                    SCHEDULER_NAME,
                )
        return None

    def _not_let_in(self, group: Object) -> str:
        """Why its queue does not let it go on yet."""
        queue = self.context.see(QUEUES).get("", queues.queue_of(group))
        if queue is None or not queues.is_open(queue):
            return f"queue {queues.queue_of(group)} is {'closed' if queue else 'not there'}"
        wanted = read(group["spec"].get("minResources"))
        held = queues.reserved(self.context, queues.queue_of(group), group)
        if queues.lacking(queue, held, wanted):
            return gang.QUEUE_IS_FULL
        idle = _idle(self.context)
        return (
            gang.CLUSTER_IS_FULL
            if any(idle.get(name, Decimal(0)) < amount for name, amount in wanted.items())
            else ""
        )

    def _place(self, group: Object, pods: list[Object]) -> str:
        """Bind those that fit, if they are enough; else say why not."""
        floor = self.context.the(Floor)
        with floor.lock:
            waiting = [
                pod
                for pod in pods
                if not floor.is_bound(pod) and not is_leaving(pod) and not is_over(pod)
            ]
            least = int(group["spec"].get("minMember") or 0)
            if not waiting or len(pods) < least:
                return ""  # none is left to place, or not all have come yet
            chosen, refused = self._choose(group, waiting, floor)
            placed = sum(1 for pod in pods if floor.is_bound(pod) and not is_leaving(pod))
            enough = placed + len(chosen) >= least
            nodes = floor.place(chosen).nodes if enough else {}
            for pod in chosen if enough else ():
                if not self._claims_follow(pod, nodes[uid_of(pod)]):
                    floor.bind(pod, nodes[uid_of(pod)])
        for pod, why in refused:
            self._refuse(pod, why)
        for pod in () if enough else chosen:
            self._refuse(pod, gang.not_ready(group, pods, len(refused)))
        return "" if enough else gang.unschedulable(group, pods, len(refused))

    def _choose(
        self, group: Object, waiting: list[Object], floor: Floor
    ) -> tuple[list[Object], list[tuple[Object, str]]]:
        """As many as fit together on the nodes and in the queue; and why each of the others does
        not."""
        queue = self.context.see(QUEUES).get("", queues.queue_of(group))
        held = queues.allocated(self.context, queues.queue_of(group))
        chosen: list[Object] = []
        refused: list[tuple[Object, str]] = []
        for pod in waiting:
            full = queue is not None and queues.lacking(
                queue, added(held, total(chosen)), total([pod])
            )
            why = (
                gang.QUEUE_IS_FULL
                if full
                else self._claims_missing(pod) or floor.place([*chosen, pod]).why_not
            )
            if why:
                refused.append((pod, why))
            else:
                chosen.append(pod)
        return chosen, refused

    def _waiting_groups(self, one: Object) -> Iterable[Key]:
        groups = self.context.see(POD_GROUPS).all()
        return [
            key_of(group)
            for group in groups
            if queues.phase_of(group) not in ("Running", "Completed")
        ]

    def _concerned_groups(self, pod: Object) -> Iterable[Key]:
        """A pod's own group; and those that wait, since a pod that was on a node may have left
        it."""
        if concerns_operator(VOLCANO_SCHEDULER, pod):
            return all_of(self.context, POD_GROUPS)
        own = [(pod["metadata"]["namespace"], group_of(pod))] if group_of(pod) else []
        return [*own, *(self._waiting_groups(pod) if pod["spec"].get("nodeName") else ())]


def _idle(context: ControllerContext) -> Amounts:
    """What the nodes have, a little generously, less what pods hold and groups that were let in
    will take."""
    nodes = [node for node in context.see(NODES).all() if not is_leaving(node)]
    there = added(*(read((node.get("status") or {}).get("allocatable")) for node in nodes))
    pods = [
        pod for pod in context.see(PODS).all() if pod["spec"].get("nodeName") and not is_over(pod)
    ]
    groups = [
        group for group in context.see(POD_GROUPS).all() if queues.phase_of(group) == "Inqueue"
    ]
    used = added(total(pods), *(read(group["spec"].get("minResources")) for group in groups))
    return {
        name: amount * OVERCOMMIT - used.get(name, Decimal(0)) for name, amount in there.items()
    }
