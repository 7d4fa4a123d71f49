"""Garbage collection on a real API server: what is owned goes with its owner. The pretend one does
it itself."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial

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
        # Whose owner's kind was not followed when they were looked at: that owner may have gone
        # without a word, and another of its name may be there
        self._unjudged: set[Key] = set()
        self.queue.add(_KINDS)

    def reconcile(self, key: Key) -> float | None:
        if key == _KINDS:
            self._follow_all()
            return LOOK_AGAIN_SECONDS
        resource = self._resources.get(key[0])
        found = self.context.see(resource).all() if resource is not None else []
        obj = next(
            (each for each in found if resource is not None and self._key(resource, each) == key),
            None,
        )
        if resource is None or obj is None:
            return None
        if is_leaving(obj) and obj["metadata"].get("finalizers"):
            self._see_off(resource, obj)
        if obj["metadata"].get("ownerReferences"):
            self._require_owner(resource, obj)
        return None

    def _follow_all(self) -> None:
        for resource in self.context.the(Served).all():
            if resource not in self._followed:
                # A new set: other threads iterate over the old one.
                self._followed = self._followed | {resource}
                self.context.see(resource).listen(partial(self._heard, resource))
                self._look_again()

    def _look_again(self) -> None:
        with self._lock:
            woken, self._unjudged = self._unjudged, set()
        for key in woken:
            self.queue.add(key)

    def _heard(self, resource: Resource, obj: Object) -> None:
        key = self._key(resource, obj)
        with self._lock:
            self._resources[key[0]] = resource
            for owner in obj["metadata"].get("ownerReferences") or ():
                self._dependents.setdefault(owner["uid"], set()).add(key)
            woken = [key, *self._dependents.get(uid_of(obj), ())]
        for each in woken:
            self.queue.add(each)
        for reference in (obj["metadata"].get("ownerReferences") or ()) if is_leaving(obj) else ():
            for owner in self._followed:
                if (owner.group, owner.kind) == (
                    reference["apiVersion"].rpartition("/")[0],
                    reference["kind"],
                ):
                    self.queue.add(
                        (owner.path(key_of(obj)[0] if owner.namespaced else ""), reference["name"])
                    )

    def _require_owner(self, resource: Resource, obj: Object) -> None:
        owners = []
        for reference in obj["metadata"]["ownerReferences"]:
            kind = self.context.the(Served).of(reference["apiVersion"], reference["kind"])
            if kind is None or kind not in self._followed:
                with self._lock:
                    self._unjudged.add(self._key(resource, obj))
            owners.append((reference, self._owner(kind, reference, obj)))
        there = [reference for reference, owner in owners if owner is not None]
        if not there:
            self.context.delete(resource, obj)
        elif len(there) < len(owners):
            self.context.patch(resource, obj, {"metadata": {"ownerReferences": there}})
        elif not is_leaving(obj) and any(_leaves_last(owner) for _, owner in owners):
            self.context.delete(resource, obj, propagation="Foreground")

    def _owner(
        self, resource: Resource | None, reference: Object, dependent: Object
    ) -> Object | None:
        """The owner as it is now; an empty object for a kind that is not served, which is not ours
        to judge."""
        if resource is None:
            return {"metadata": {}}
        namespace = dependent["metadata"].get("namespace", "") if resource.namespaced else ""
        seen = self.context.see(resource).get(namespace, reference["name"])
        if seen is not None and uid_of(seen) == reference["uid"]:
            return seen
        try:
            live: Object = self.context.api.call("GET", resource.path(namespace, reference["name"]))
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return live if uid_of(live) == reference["uid"] else None

    def _see_off(self, resource: Resource, obj: Object) -> None:
        finalizers = obj["metadata"]["finalizers"]
        dependents = self._living_dependents(uid_of(obj))
        if ORPHAN in finalizers:
            for kind, each in dependents:
                others = [
                    reference
                    for reference in each["metadata"]["ownerReferences"]
                    if reference["uid"] != uid_of(obj)
                ]
                self.context.patch(kind, each, {"metadata": {"ownerReferences": others or None}})
        elif FOREGROUND in finalizers:
            for kind, each in dependents:
                if not is_leaving(each):
                    self.context.delete(kind, each, propagation="Foreground")
            if any(_blocks(each, obj) for _, each in dependents):
                return
        left = [each for each in finalizers if each not in (ORPHAN, FOREGROUND)]
        if left != finalizers:
            self.context.patch(resource, obj, {"metadata": {"finalizers": left or None}})

    def _living_dependents(self, uid: str) -> list[tuple[Resource, Object]]:
        return [
            (resource, one)
            for resource in self._followed
            for one in self.context.see(resource).owned_by(uid)
        ]

    @staticmethod
    def _key(resource: Resource, one: Object) -> Key:
        return resource.path(key_of(one)[0]), key_of(one)[1]


def _leaves_last(owner: Object | None) -> bool:
    return owner is not None and FOREGROUND in (owner["metadata"].get("finalizers") or ())


def _blocks(dependent: Object, owner: Object) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == uid_of(owner) and one.get("blockOwnerDeletion") for one in references)
