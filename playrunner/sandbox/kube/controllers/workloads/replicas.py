"""ReplicaSets: as many pods of a template as are asked for."""

from __future__ import annotations

import random
from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    by_owner,
)
from playrunner.sandbox.kube.controllers.framework.controller_context import (
    ControllerContext,
    now,
    seconds_since,
)
from playrunner.sandbox.kube.controllers.framework.pods import (
    from_template,
    is_active,
    is_over,
    is_ready,
    phase_of,
)
from playrunner.sandbox.kube.controllers.framework.resources import (
    PODS,
    REPLICA_SETS,
    Key,
    Object,
    Resource,
    is_leaving,
    owned,
    uid_of,
)

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come about


def suffix(count: int = 5) -> str:
    return "".join(random.choices(_LETTERS, k=count))


class ReplicaSetController(Controller):
    name = "replicasets"

    def watches(self) -> Iterable[Watch]:
        return ((REPLICA_SETS, by_itself), (PODS, by_owner("ReplicaSet")))

    def reconcile(self, key: Key) -> float | None:
        replica_set = self.context.see(REPLICA_SETS).get(*key)
        if replica_set is None or is_leaving(replica_set):
            return None
        pods = [
            pod for pod in self.context.see(PODS).owned_by(uid_of(replica_set)) if is_active(pod)
        ]
        wanted = replica_set["spec"].get("replicas", 1)
        for _ in range(wanted - len(pods)):
            pods.append(
                create_pod(
                    self.context,
                    replica_set,
                    REPLICA_SETS,
                    f"{replica_set['metadata']['name']}-{suffix()}",
                )
            )
        surplus = sorted(pods, key=_worth)[: max(0, len(pods) - wanted)]
        for pod in surplus:
            self.context.delete(PODS, pod)
        left = [pod for pod in pods if pod not in surplus]
        available, soon = availability(left, replica_set["spec"].get("minReadySeconds", 0))
        self.context.patch_status(
            REPLICA_SETS,
            replica_set,
            {
                "replicas": len(left),
                "fullyLabeledReplicas": len(left),
                "readyReplicas": sum(map(is_ready, left)),
                "availableReplicas": available,
                "observedGeneration": replica_set["metadata"].get("generation", 1),
            },
        )
        return soon


def create_pod(
    context: ControllerContext, owner: Object, resource: Resource, name: str, **metadata: Object
) -> Object:
    """A pod of the owner's template; a refusal becomes an event of the owner."""
    given = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": owned(owner),
        **metadata,
    }
    body = from_template(owner["spec"]["template"], given)
    kind = resource.kind.lower()
    try:
        pod = context.create(PODS, body)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            context.event(
                owner,
                "Warning",
                "FailedCreate",
                f"Error creating: {error.message}",
                f"{kind}-controller",
            )
        raise
    context.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name}", f"{kind}-controller")
    return pod


def availability(pods: list[Object], least_seconds: int) -> tuple[int, float | None]:
    """How many have been ready for long enough, and when to look again at those that have not."""
    ready = [pod for pod in pods if is_ready(pod)]
    if not least_seconds:
        return len(ready), None
    missing = [least_seconds - seconds_since(_ready_since(pod)) for pod in ready]
    soon = [left for left in missing if left > 0]
    return len(ready) - len(soon), min(soon) if soon else None


def _ready_since(pod: Object) -> str:
    moments = [
        condition.get("lastTransitionTime")
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready"
    ]
    return str(moments[0] or now())


def _worth(pod: Object) -> tuple[bool, bool, bool]:
    """Those that do least go first."""
    return (
        bool(pod["spec"].get("nodeName")),
        phase_of(pod) == "Running" and not is_over(pod),
        is_ready(pod),
    )
