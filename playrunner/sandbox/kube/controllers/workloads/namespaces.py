"""Namespaces beside a real API server: a default account in each; those that are to go are
emptied."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    for_reading,
)
from playrunner.sandbox.kube.controllers.framework.controller_context import now
from playrunner.sandbox.kube.controllers.framework.resources import (
    EVENTS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    Key,
    Object,
    Resource,
    is_leaving,
)
from playrunner.sandbox.kube.controllers.framework.served import Served

LOOK_AGAIN_SECONDS = 0.3
FINALIZER = "kubernetes"


class NamespaceController(Controller):
    name = "namespaces"

    def watches(self) -> Iterable[Watch]:
        return ((NAMESPACES, by_itself), (SERVICE_ACCOUNTS, for_reading))

    def reconcile(self, key: Key) -> float | None:
        namespace = self.context.see(NAMESPACES).get(*key)
        if namespace is None:
            return None
        if not is_leaving(namespace):
            if self.context.see(SERVICE_ACCOUNTS).get(key[1], "default") is None:
                self.context.create(
                    SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": key[1]}}
                )
            return None
        left = self._empty(key[1])
        if left:
            self.context.patch_status(
                NAMESPACES, namespace, {"phase": "Terminating", "conditions": remaining(left)}
            )
            return LOOK_AGAIN_SECONDS
        finalizers = [
            each for each in namespace["spec"].get("finalizers") or () if each != FINALIZER
        ]
        if finalizers != (namespace["spec"].get("finalizers") or []):
            live = self.context.api.call("GET", NAMESPACES.path("", key[1]))
            self.context.api.call(
                "PUT",
                NAMESPACES.path("", key[1], "finalize"),
                {**live, "spec": {"finalizers": finalizers}},
            )
        return None

    def _empty(self, namespace: str) -> dict[Resource, list[Object]]:
        """Have everything in it go; what is still there."""
        left = {}
        kinds = [resource for resource in self.context.the(Served).all() if resource.namespaced]
        for resource in [*kinds, EVENTS]:
            try:
                objects = self.context.api.call("GET", resource.path(namespace))["items"]
                if any(not is_leaving(one) for one in objects):
                    self.context.api.call("DELETE", resource.path(namespace))
                    objects = self.context.api.call("GET", resource.path(namespace))["items"]
            except ApiError as error:
                if error.code not in (404, 405):
                    raise
                continue
            if objects:
                left[resource] = objects
        return left


def remaining(left: dict[Resource, list[Object]]) -> list[Object]:
    """Why it does not go, as its conditions say it."""
    content = ", ".join(
        f"{_qualified(resource)} has {len(objects)} resource instances"
        for resource, objects in left.items()
    )
    conditions = [
        (
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            f"Some resources are remaining: {content}",
        )
    ]
    holders: dict[str, int] = {}
    for one in (one for objects in left.values() for one in objects):
        for each in one["metadata"].get("finalizers") or ():
            holders[each] = holders.get(each, 0) + 1
    if holders:
        listed = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(holders.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        conditions.append(("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message))
    return [
        {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": now(),
        }
        for kind, reason, message in conditions
    ]


def _qualified(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
