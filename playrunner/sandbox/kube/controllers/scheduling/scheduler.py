"""The default scheduler: a node for each pod that has none, or the reason why not in its condition
and an event."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, for_reading
from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    CLAIMS,
    NODES,
    PODS,
    STORAGE_CLASSES,
    VOLUMES,
    Key,
    Object,
    annotations_of,
    is_leaving,
    key_of,
)
from playrunner.sandbox.kube.controllers.scheduling.free_capacity import Floor, claims_of

NAME = "default-scheduler"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


class Scheduler(Controller):
    """One pod at a time."""

    name = "scheduler"

    def watches(self) -> Iterable[Watch]:
        return (
            (PODS, self._concerned),
            (NODES, self._waiting),
            (CLAIMS, self._waiting),
            (VOLUMES, for_reading),
            (STORAGE_CLASSES, for_reading),
        )

    def reconcile(self, key: Key) -> float | None:
        pod = self.context.see(PODS).get(*key)
        floor = self.context.the(Floor)
        if pod is None or not _waits(pod):
            return None
        with floor.lock:
            if floor.is_bound(pod):
                return None
            why = self._claims_missing(pod)
            placing = floor.place([pod]) if not why else None
            if placing is not None and placing.nodes:
                node = next(iter(placing.nodes.values()))
                if not self._claims_follow(pod, node):
                    floor.bind(pod, node)
                return None
        self._refuse(pod, why or (placing.why_not if placing else ""))
        return None

    def _concerned(self, pod: Object) -> Iterable[Key]:
        if _waits(pod):
            return (key_of(pod),)
        # One that was on a node may have left it, and one that is deleted without grace goes
        # without a word.
        return self._waiting(pod) if pod["spec"].get("nodeName") else ()

    def _waiting(self, one: Object) -> Iterable[Key]:
        return [key_of(pod) for pod in self.context.see(PODS).all() if _waits(pod)]

    def _claims_missing(self, pod: Object) -> str:
        """Why its claims keep it from any node."""
        namespace = pod["metadata"]["namespace"]
        nodes = len(self.context.see(NODES).all())
        for name in claims_of(pod):
            claim = self.context.see(CLAIMS).get(namespace, name)
            if claim is None:
                return f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" not found.'
            if is_leaving(claim):
                return (
                    f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" is being'
                    " deleted."
                )
            if not claim["spec"].get("volumeName") and not self._waits_for_pod(claim):
                return (
                    f"0/{nodes} nodes are available: pod has unbound immediate"
                    " PersistentVolumeClaims."
                )
        return ""

    def _claims_follow(self, pod: Object, node: str) -> bool:
        """Tell claims that wait for their first pod which node it will be; whether one of them is
        still unbound."""
        unbound = False
        for name in claims_of(pod):
            claim = self.context.see(CLAIMS).get(pod["metadata"]["namespace"], name)
            if claim is not None and not claim["spec"].get("volumeName"):
                unbound = True
                if SELECTED_NODE not in annotations_of(claim):
                    self.context.patch(
                        CLAIMS, claim, {"metadata": {"annotations": {SELECTED_NODE: node}}}
                    )
        return unbound

    def _waits_for_pod(self, claim: Object) -> bool:
        found = self.context.see(STORAGE_CLASSES).get(
            "", claim["spec"].get("storageClassName") or ""
        )
        return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _refuse(self, pod: Object, why: str) -> None:
        conditions = (pod.get("status") or {}).get("conditions") or []
        if any(
            condition["type"] == "PodScheduled" and condition.get("message") == why
            for condition in conditions
        ):
            return
        refused = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": why,
        }
        refused["lastTransitionTime"] = now()
        others = [condition for condition in conditions if condition["type"] != "PodScheduled"]
        self.context.patch_status(PODS, pod, {"conditions": [*others, refused]})
        self.context.event(
            pod, "Warning", "FailedScheduling", why, pod["spec"].get("schedulerName") or NAME
        )


def _waits(pod: Object) -> bool:
    ours = (pod["spec"].get("schedulerName") or NAME) == NAME
    gated = pod["spec"].get("schedulingGates")
    return (
        ours
        and not gated
        and not pod["spec"].get("nodeName")
        and not is_leaving(pod)
        and not is_over(pod)
    )
