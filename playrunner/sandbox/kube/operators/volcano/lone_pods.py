"""A pod group for pods that ask for Volcano's scheduler and come without one: it places groups
only."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch
from playrunner.sandbox.kube.controllers.framework.pods import is_over
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEPLOYMENTS,
    PODS,
    Key,
    Object,
    annotations_of,
    controller_of,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.operators.installed import VOLCANO_CONTROLLERS, concerns_operator
from playrunner.sandbox.kube.operators.kinds import POD_GROUPS
from playrunner.sandbox.kube.operators.pod_group import (
    GROUP_NAME,
    SCHEDULER_NAME,
    group_of,
    pod_group,
)

QUEUE = "scheduling.volcano.sh/queue-name"


class LonePodController(Controller):
    """Part of Volcano's controllers."""

    name = "volcano-pod-groups"

    def watches(self) -> Iterable[Watch]:
        return (
            (PODS, self._concerned),
            (DEPLOYMENTS, self._concerned),
            (POD_GROUPS, lambda group: ()),
        )

    def reconcile(self, key: Key) -> float | None:
        pod = self.context.see(PODS).get(*key)
        if pod is None or not _is_lone(pod) or not VOLCANO_CONTROLLERS.acts(self.context):
            return None
        name = _group_name(pod)
        if self.context.see(POD_GROUPS).get(key[0], name) is None:
            owner = pod if controller_of(pod) is None else {**pod, **_owner(pod)}
            self.context.create(
                POD_GROUPS, pod_group(owner, name, 1, [pod], queue=annotations_of(pod).get(QUEUE))
            )
        self.context.patch(PODS, pod, {"metadata": {"annotations": {GROUP_NAME: name}}})
        return None

    def _concerned(self, one: Object) -> Iterable[Key]:
        if concerns_operator(VOLCANO_CONTROLLERS, one):
            return [key_of(pod) for pod in self.context.see(PODS).all() if _is_lone(pod)]
        return (key_of(one),) if one["kind"] == "Pod" and _is_lone(one) else ()


def _is_lone(pod: Object) -> bool:
    return (
        pod["spec"].get("schedulerName") == SCHEDULER_NAME
        and not group_of(pod)
        and not is_leaving(pod)
        and not is_over(pod)
    )


def _group_name(pod: Object) -> str:
    owner = controller_of(pod)
    return f"podgroup-{owner['uid'] if owner else uid_of(pod)}"


def _owner(pod: Object) -> Object:
    """Enough of the pod's owner to own the group as well."""
    owner = controller_of(pod) or {}
    namespace = pod["metadata"]["namespace"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "metadata": {"name": owner["name"], "uid": owner["uid"], "namespace": namespace},
    }
