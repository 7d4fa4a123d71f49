"""Namespaces beside a real API server: a default account in each; those that are to go are emptied."""

from __future__ import annotations

from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import (
    Controller,
    Watch,
    by_itself,
    for_reading,
)
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
from playrunner.sandbox.kube.controllers.framework.world import now

LOOK_AGAIN_SECONDS = 0.3
FINALIZER = "kubernetes"


class NamespaceController(Controller):
    name = "namespaces"

    def watches(self) -> Iterable[Watch]:
        return ((NAMESPACES, by_itself), (SERVICE_ACCOUNTS, for_reading))

    def reconcile(self, key: Key) -> float | None:
        one = self.world.see(NAMESPACES).get(*key)
        if one is None:
            return None
        if not is_leaving(one):
            if self.world.see(SERVICE_ACCOUNTS).get(key[1], "default") is None:
                self.world.create(
                    SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": key[1]}}
                )
            return None
        left = self._empty(key[1])
        if left:
            self.world.patch_status(
                NAMESPACES, one, {"phase": "Terminating", "conditions": remaining(left)}
            )
            return LOOK_AGAIN_SECONDS
        finalizers = [each for each in one["spec"].get("finalizers") or () if each != FINALIZER]
        if finalizers != (one["spec"].get("finalizers") or []):
            live = self.world.api.call("GET", NAMESPACES.path("", key[1]))
            self.world.api.call(
                "PUT",
                NAMESPACES.path("", key[1], "finalize"),
                {**live, "spec": {"finalizers": finalizers}},
            )
        return None

    def _empty(self, namespace: str) -> dict[Resource, list[Object]]:
        """Have everything in it go; what is still there."""
        left = {}
        kinds = [resource for resource in self.world.the(Served).all() if resource.namespaced]
        for resource in [*kinds, EVENTS]:
            try:
                found = self.world.api.call("GET", resource.path(namespace))["items"]
                if any(not is_leaving(one) for one in found):
                    self.world.api.call("DELETE", resource.path(namespace))
                    found = self.world.api.call("GET", resource.path(namespace))["items"]
            except ApiError as error:
                if error.code not in (404, 405):
                    raise
                continue
            if found:
                left[resource] = found
        return left


def remaining(left: dict[Resource, list[Object]]) -> list[Object]:
    """Why it does not go, as its conditions say it."""
    content = ", ".join(
        f"{_qualified(resource)} has {len(found)} resource instances"
        for resource, found in left.items()
    )
    said = [
        (
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            f"Some resources are remaining: {content}",
        )
    ]
    holders: dict[str, int] = {}
    for one in (one for found in left.values() for one in found):
        for each in one["metadata"].get("finalizers") or ():
            holders[each] = holders.get(each, 0) + 1
    if holders:
        listed = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(holders.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        said.append(("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message))
    return [{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
            for kind, reason, message in said]  # fmt: skip


def _qualified(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
