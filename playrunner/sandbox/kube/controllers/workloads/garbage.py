"""Garbage collection on a real API server: what is owned goes with its owner. The pretend one does
it itself."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from playrunner.sandbox.kube.controllers.framework.client import ApiError
from playrunner.sandbox.kube.controllers.framework.controller import Controller, Watch
from playrunner.sandbox.kube.controllers.framework.resources import (
    DEFINITIONS,
    Key,
    Object,
    Resource,
    is_leaving,
    key_of,
    uid_of,
)
from playrunner.sandbox.kube.controllers.framework.served import Served

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
LOOK_AGAIN_SECONDS = 2.5  # at which kinds there are
_KINDS = ("", "")  # the key under which kinds are looked for


class GarbageCollector(Controller):
    """Follows every kind. Its keys are an object's place in the API
    (`/apis/apps/v1/namespaces/a/deployments`) and its name."""

    name = "garbage"

    def watches(self) -> Iterable[Watch]:
        return ((DEFINITIONS, lambda one: (_KINDS,)),)

    def prepare(self) -> None:
        self._followed: set[Resource] = set()
        self._lock = threading.Lock()
        self._resources: dict[str, Resource] = {}
        self._dependents: dict[str, set[Key]] = {}  # uid of an owner: keys
        self.queue.add(_KINDS)

    def reconcile(self, key: Key) -> float | None:
        if key == _KINDS:
            self._follow_all()
            return LOOK_AGAIN_SECONDS
        resource = self._resources.get(key[0])
        found = self.world.see(resource).all() if resource is not None else []
        one = next(
            (each for each in found if resource is not None and self._key(resource, each) == key),
            None,
        )
        if resource is None or one is None:
            return None
        if is_leaving(one) and one["metadata"].get("finalizers"):
            self._see_off(resource, one)
        if one["metadata"].get("ownerReferences"):
            self._require_owner(resource, one)
        return None

    def _follow_all(self) -> None:
        for resource in self.world.the(Served).all():
            if resource not in self._followed:
                self._followed = self._followed | {
                    resource
                }  # a new set: others go through the old one
                self.world.see(resource).listen(
                    lambda one, resource=resource: self._heard(resource, one)
                )  # type: ignore[misc]

    def _heard(self, resource: Resource, one: Object) -> None:
        key = self._key(resource, one)
        with self._lock:
            self._resources[key[0]] = resource
            for owner in one["metadata"].get("ownerReferences") or ():
                self._dependents.setdefault(owner["uid"], set()).add(key)
            woken = [key, *self._dependents.get(uid_of(one), ())]
        for each in woken:
            self.queue.add(each)
        for reference in (one["metadata"].get("ownerReferences") or ()) if is_leaving(one) else ():
            for owner in self._followed:
                if (owner.group, owner.kind) == (
                    reference["apiVersion"].rpartition("/")[0],
                    reference["kind"],
                ):
                    self.queue.add(
                        (owner.path(key_of(one)[0] if owner.namespaced else ""), reference["name"])
                    )

    def _require_owner(self, resource: Resource, one: Object) -> None:
        found = [
            (reference, self._owner(reference, one))
            for reference in one["metadata"]["ownerReferences"]
        ]
        there = [reference for reference, owner in found if owner is not None]
        if not there:
            self.world.delete(resource, one)
        elif len(there) < len(found):
            self.world.patch(resource, one, {"metadata": {"ownerReferences": there}})
        elif not is_leaving(one) and any(_leaves_last(owner) for _, owner in found):
            self.world.delete(resource, one, propagation="Foreground")

    def _owner(self, reference: Object, dependent: Object) -> Object | None:
        """The owner as it is now; an empty object for a kind that nobody serves, which is not ours
        to judge."""
        resource = self.world.the(Served).of(reference["apiVersion"], reference["kind"])
        if resource is None:
            return {"metadata": {}}
        namespace = dependent["metadata"].get("namespace", "") if resource.namespaced else ""
        seen = self.world.see(resource).get(namespace, reference["name"])
        if seen is not None and uid_of(seen) == reference["uid"]:
            return seen
        try:
            live: Object = self.world.api.call("GET", resource.path(namespace, reference["name"]))
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return live if uid_of(live) == reference["uid"] else None

    def _see_off(self, resource: Resource, one: Object) -> None:
        finalizers = one["metadata"]["finalizers"]
        dependents = self._living_dependents(uid_of(one))
        if ORPHAN in finalizers:
            for kind, each in dependents:
                others = [
                    reference
                    for reference in each["metadata"]["ownerReferences"]
                    if reference["uid"] != uid_of(one)
                ]
                self.world.patch(kind, each, {"metadata": {"ownerReferences": others or None}})
        elif FOREGROUND in finalizers:
            for kind, each in dependents:
                if not is_leaving(each):
                    self.world.delete(kind, each, propagation="Foreground")
            if any(_blocks(each, one) for _, each in dependents):
                return
        left = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
        if left != finalizers:
            self.world.patch(resource, one, {"metadata": {"finalizers": left or None}})

    def _living_dependents(self, uid: str) -> list[tuple[Resource, Object]]:
        return [
            (resource, one)
            for resource in self._followed
            for one in self.world.see(resource).owned_by(uid)
        ]

    @staticmethod
    def _key(resource: Resource, one: Object) -> Key:
        return resource.path(key_of(one)[0]), key_of(one)[1]


def _leaves_last(owner: Object | None) -> bool:
    return owner is not None and FOREGROUND in (owner["metadata"].get("finalizers") or ())


def _blocks(dependent: Object, owner: Object) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == uid_of(owner) and one.get("blockOwnerDeletion") for one in references)
