"""Queues: what each may hold and holds, whether it is open, and the one that is always there."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.controller_context import ControllerContext
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    PODS,
    Key,
    Object,
    is_leaving,
    key_of,
)
from playrunner.sandbox.kube.controllers.scheduling.fit import Amounts
from playrunner.sandbox.kube.operators.installed import VOLCANO_CONTROLLERS, concerns_operator
from playrunner.sandbox.kube.operators.kinds import COMMANDS, POD_GROUPS, QUEUES
from playrunner.sandbox.kube.operators.pod_group import added, group_of, read, total, written
from playrunner.sandbox.kube.operators.volcano.spec import DEFAULT_QUEUE

_PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")


def queue_of(group: Object) -> str:
    return str(group["spec"].get("queue") or DEFAULT_QUEUE)


def phase_of(group: Object) -> str:
    return str((group.get("status") or {}).get("phase") or "Pending")


def groups_in(context: ControllerContext, queue: str) -> list[Object]:
    return [
        one
        for one in context.see(POD_GROUPS).all()
        if queue_of(one) == queue and not is_leaving(one)
    ]


def placed_pods(context: ControllerContext, group: Object) -> list[Object]:
    """Those of a group that hold resources."""
    namespace, name = key_of(group)
    return [
        one
        for one in context.see(PODS).all(namespace)
        if group_of(one) == name and one["spec"].get("nodeName") and not is_over(one)
    ]


def allocated(context: ControllerContext, queue: str) -> Amounts:
    return added(*(total(placed_pods(context, group)) for group in groups_in(context, queue)))


def reserved(context: ControllerContext, queue: str, besides: Object) -> Amounts:
    """What it holds, and what other groups that have been let in will take."""
    parts = []
    for group in groups_in(context, queue):
        if key_of(group) != key_of(besides):
            placed = total(placed_pods(context, group))
            parts.append(
                _larger(placed, read(group["spec"].get("minResources")))
                if phase_of(group) == "Inqueue"
                else placed
            )
    return added(*parts)


def lacking(queue: Object, held: Amounts, wanted: Amounts) -> list[str]:
    """The resources of which a queue may not hold that much more; it limits only what it names."""
    capability = read(queue["spec"].get("capability"))
    over = (
        name
        for name, most in capability.items()
        if wanted.get(name) and held.get(name, Decimal(0)) + wanted[name] > most
    )
    return sorted(over)


def is_open(queue: Object) -> bool:
    return (queue.get("status") or {}).get("state", "Open") in ("Open", "")


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return {
        name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {*one, *other}
    }


class QueueController(Controller):
    """Part of Volcano's controllers: counts, and opens and closes by command."""

    name = "volcano-queues"

    def prepare(self) -> None:
        self._incarnation = ""

    def watches(self) -> Iterable[Watch]:
        return (
            (QUEUES, by_itself),
            (POD_GROUPS, _queue_key),
            (PODS, self._concerned),
            (COMMANDS, _target),
        )

    def reconcile(self, key: Key) -> float | None:
        incarnation = VOLCANO_CONTROLLERS.incarnation(self.context)
        if not incarnation:
            return None
        queue = self.context.see(QUEUES).get(*key)
        if queue is None and key[1] == DEFAULT_QUEUE and incarnation != self._incarnation:
            queue = self.context.create(
                QUEUES,
                {"metadata": {"name": DEFAULT_QUEUE}, "spec": {"weight": 1, "reclaimable": True}},
            )
        if key[1] == DEFAULT_QUEUE:
            # Made once by each start, so that it can be deleted for good
            self._incarnation = incarnation
        if queue is None or is_leaving(queue):
            return None
        status = self._status(queue)
        if status != queue.get("status"):
            self.context.replace(QUEUES, {**queue, "status": status}, "status")
        return None

    def _status(self, queue: Object) -> Object:
        name = queue["metadata"]["name"]
        groups = groups_in(self.context, name)
        counts = {
            phase.lower(): sum(1 for one in groups if phase_of(one) == phase) for phase in _PHASES
        }
        held = self.context.see(COMMANDS).all()
        state = (queue.get("status") or {}).get("state") or "Open"
        for command in held:
            if _target(command) == (("", name),) and not is_leaving(command):
                self.context.delete(COMMANDS, command)
                state = {"OpenQueue": "Open", "CloseQueue": "Closing"}.get(
                    command.get("action", ""), state
                )
        if state in ("Closing", "Closed"):
            state = "Closing" if groups else "Closed"
        kept = {
            field: value
            for field, value in (queue.get("status") or {}).items()
            if field == "reservation"
        }
        shown = {field: count for field, count in counts.items() if count}
        return {
            **kept,
            **shown,
            "state": state,
            "allocated": written(allocated(self.context, name)),
        }

    def _concerned(self, pod: Object) -> Iterable[Key]:
        group = (
            self.context.see(POD_GROUPS).get(pod["metadata"]["namespace"], group_of(pod))
            if group_of(pod)
            else None
        )
        if group is not None:
            return (("", queue_of(group)),)
        return (("", DEFAULT_QUEUE),) if concerns_operator(VOLCANO_CONTROLLERS, pod) else ()


def _queue_key(group: Object) -> Iterable[Key]:
    return (("", queue_of(group)),)


def _target(command: Object) -> Iterable[Key]:
    target = command.get("target") or {}
    return (("", target["name"]),) if target.get("kind") == QUEUES.kind else ()
