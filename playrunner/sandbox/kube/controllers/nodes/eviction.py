"""Pods that have to leave: from nodes whose taints they do not tolerate, and with nodes that are
gone."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch, by_itself
from playrunner.sandbox.kube.controllers.framework.controller_context import (
    ControllerContext,
    now,
    seconds_since,
)
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    NODES,
    PODS,
    Key,
    Object,
    is_leaving,
    key_of,
)
from playrunner.sandbox.kube.controllers.scheduling.fit import tolerates

# At most, for taints that are tolerated for a time; five minutes by default in the real world
PATIENCE_SECONDS = 3.0
QUARANTINE_SECONDS = 0.5  # a pod may be seen before its node


class EvictionController(Controller):
    name = "eviction"

    def watches(self) -> Iterable[Watch]:
        return ((PODS, by_itself), (NODES, self._on))

    def _on(self, node: Object) -> Iterable[Key]:
        return [
            key_of(pod)
            for pod in self.context.see(PODS).all()
            if pod["spec"].get("nodeName") == node["metadata"]["name"]
        ]

    def reconcile(self, key: Key) -> float | None:
        pod = self.context.see(PODS).get(*key)
        name = (pod or {}).get("spec", {}).get("nodeName")
        if pod is None or not name:
            return None
        node = self.context.see(NODES).get("", name)
        if node is None:
            return self._with_its_node(pod, name)
        if is_leaving(pod) or is_over(pod):
            return None
        taints = [
            one
            for one in (node.get("spec") or {}).get("taints") or ()
            if one["effect"] == "NoExecute"
        ]
        due = [left for taint in taints if (left := _patience(pod, taint)) is not None]
        if not due:
            return None
        if min(due) > 0:
            return min(due)
        mark_disrupted(
            self.context,
            pod,
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        said = f"Marking for deletion Pod {'/'.join(key)}"
        self.context.event(pod, "Normal", "TaintManagerEviction", said, "taint-eviction-controller")
        self.context.delete(PODS, pod)
        return None

    def _with_its_node(self, pod: Object, node: str) -> float | None:
        age = seconds_since(pod["metadata"]["creationTimestamp"])
        if age < QUARANTINE_SECONDS:
            return QUARANTINE_SECONDS
        try:
            self.context.api.call("GET", NODES.path("", node))
            return QUARANTINE_SECONDS
        except ApiError as error:
            if error.code != 404:
                raise
        if not is_over(pod):
            mark_disrupted(
                self.context, pod, "DeletionByPodGC", "PodGC: node no longer exists", phase="Failed"
            )
        self.context.delete(PODS, pod, grace=0)
        return None


def mark_disrupted(
    context: ControllerContext, pod: Object, reason: str, message: str, phase: str = ""
) -> None:
    """Say that it was the cluster, not the program, that ended the pod."""
    others = [
        one
        for one in (pod.get("status") or {}).get("conditions") or ()
        if one["type"] != "DisruptionTarget"
    ]
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": now(),
    }
    context.patch_status(
        PODS, pod, {"conditions": [*others, mark], **({"phase": phase} if phase else {})}
    )


def _patience(pod: Object, taint: Object) -> float | None:
    """The seconds for which the pod may stay; None: for ever."""
    if not tolerates(pod["spec"], taint):
        return 0.0
    fitting = [
        toleration
        for toleration in pod["spec"].get("tolerations") or ()
        if tolerates({"tolerations": [toleration]}, taint)
    ]
    limits = [
        toleration["tolerationSeconds"]
        for toleration in fitting
        if toleration.get("tolerationSeconds") is not None
    ]
    if len(limits) < len(fitting) or not limits:
        return None
    since = seconds_since(taint["timeAdded"]) if taint.get("timeAdded") else 0.0
    return max(0.0, min(PATIENCE_SECONDS, float(min(limits))) - since)
