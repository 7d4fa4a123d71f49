"""What a cluster does by itself: definitions become served, dependents follow their owners,
namespaces empty themselves."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Sequence

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.store import definitions
from playrunner.sandbox.kube.store.cluster import Cluster, now
from playrunner.sandbox.kube.store.deletion import FOREGROUND, ORPHAN, DeleteOptions, delete
from playrunner.sandbox.kube.store.namespace_conditions import remaining_conditions
from playrunner.sandbox.kube.store.store import Event, Moved, Object, Place

_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_NAMESPACES = ("", "namespaces")


class BuiltinControllers:
    """One thread that reacts to every change."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._seen = cluster.store.version
        self._leaving: set[tuple[tuple[str, str], Place]] = set()
        self._due: dict[str, float] = {}  # definitions to establish, and when

    def start(self) -> None:
        threading.Thread(target=self._run, name="builtin-controllers", daemon=True).start()

    def _run(self) -> None:
        while True:
            pause = max(0.0, min(self._due.values()) - time.monotonic()) if self._due else 5.0
            self.cluster.store.wait_past(self._seen, pause)
            try:
                self.step()
            except Exception:  # one object that fails must not end the work on all others
                traceback.print_exc()

    def step(self) -> None:
        """Everything that follows from what has happened since the last step."""
        happened: Sequence[Event] = ()
        with self.cluster.store.changed:
            since, self._seen = self._seen, self.cluster.store.version
            try:
                happened = self.cluster.store.since(since)
            except Refusal:  # the history was cut: what is leaving is found again
                everything = self.cluster.store.everything()
                self._leaving = {
                    (of, _place(one))
                    for of, one in everything
                    if one["metadata"].get("deletionTimestamp")
                }
        for event in happened:
            self._follow(event)
        for name in [name for name, due in self._due.items() if due <= time.monotonic()]:
            del self._due[name]
            self._establish(name)
        for of, place in list(self._leaving):
            self._see_off(of, place)

    def _follow(self, event: Event) -> None:
        place = _place(event.last)
        if event.of == _DEFINITIONS:
            self._due[place[1]] = time.monotonic() + (
                self.cluster.settings.established if event.before is None else 0
            )
        if event.of == _NAMESPACES and event.before is None and event.after is not None:
            self._give_account(place[1])
        if event.before is None and event.after is not None:
            self._require_owner(event.of, event.after)
        if event.after is None:
            self._leaving.discard((event.of, place))
            self._dependents_follow(event.last)
        elif event.after["metadata"].get("deletionTimestamp"):
            self._leaving.add((event.of, place))

    def _give_account(self, namespace: str) -> None:
        """Every namespace has a service account called default."""
        kind = self.cluster.kind("", "v1", "serviceaccounts")
        metadata = {
            "name": "default",
            "namespace": namespace,
            "creationTimestamp": now(),
            "uid": f"{namespace}-default",
        }
        try:
            self.cluster.store.put(
                kind.stored_as,
                (namespace, "default"),
                None,
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            )
        except Moved:
            pass  # it exists already

    def _establish(self, name: str) -> None:
        definition = self.cluster.store.get(_DEFINITIONS, ("", name))
        if definition is None:
            self.cluster.kinds.serve_custom(name, ())
            return
        if not definition["metadata"].get("deletionTimestamp"):
            self.cluster.kinds.serve_custom(name, definitions.kinds_of(definition))
        self._replace(_DEFINITIONS, definition, definitions.established(definition))

    def _dependents_follow(self, owner: Object) -> None:
        """Delete what had only this owner."""
        for kind, dependent in self._dependents(owner):
            others = [
                each
                for each in dependent["metadata"]["ownerReferences"]
                if each["uid"] != owner["metadata"]["uid"]
            ]
            if any(self._is_there(each, dependent) for each in others):
                self._replace(
                    kind.stored_as,
                    dependent,
                    {**dependent, "metadata": {**dependent["metadata"], "ownerReferences": others}},
                )
            else:
                self._remove(kind, dependent, "Background")

    def _require_owner(self, of: tuple[str, str], dependent: Object) -> None:
        """What says that it has an owner, and none of its owners is there, goes."""
        owners = dependent["metadata"].get("ownerReferences") or ()
        kind = next((each for each in self._kinds() if each.stored_as == of), None)
        if (
            owners
            and kind is not None
            and not any(self._is_there(each, dependent) for each in owners)
        ):
            self._remove(kind, dependent, "Background")

    def _is_there(self, reference: Object, dependent: Object) -> bool:
        kind = self.cluster.kinds.of(reference["apiVersion"], reference["kind"])
        if kind is None:
            return True  # a kind that we do not know: not ours to judge
        namespace = dependent["metadata"].get("namespace", "") if kind.namespaced else ""
        found = self.cluster.store.get(kind.stored_as, (namespace, reference["name"]))
        return found is not None and found["metadata"]["uid"] == reference["uid"]

    def _see_off(self, of: tuple[str, str], place: Place) -> None:
        obj = self.cluster.store.get(of, place)
        if obj is None or not obj["metadata"].get("deletionTimestamp"):
            self._leaving.discard((of, place))
            return
        finalizers = obj["metadata"].get("finalizers") or []
        if ORPHAN in finalizers:
            self._let_go(obj)
            self._without(of, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = [(kind, each) for kind, each in self._dependents(obj)]
            for kind, each in blocking:
                if not each["metadata"].get("deletionTimestamp"):
                    self._remove(kind, each, "Foreground")
            if not any(_blocks(each, obj) for _, each in blocking):
                self._without(of, obj, FOREGROUND)
        elif of == _DEFINITIONS and definitions.CLEANUP in finalizers:
            self._empty_definition(obj)
        elif of == _NAMESPACES:
            self._empty_namespace(obj)

    def _let_go(self, owner: Object) -> None:
        for kind, dependent in self._dependents(owner):
            others = [
                each
                for each in dependent["metadata"]["ownerReferences"]
                if each["uid"] != owner["metadata"]["uid"]
            ]
            metadata = {
                name: value
                for name, value in dependent["metadata"].items()
                if name != "ownerReferences"
            }
            if others:
                metadata["ownerReferences"] = others
            self._replace(kind.stored_as, dependent, {**dependent, "metadata": metadata})

    def _empty_definition(self, definition: Object) -> None:
        of = (definition["spec"]["group"], definition["spec"]["names"]["plural"])
        left = self.cluster.store.list(of)[0]
        kinds = definitions.kinds_of(definition)
        for each in left:
            if kinds and not each["metadata"].get("deletionTimestamp"):
                self._remove(kinds[0], each, "Background")
        if not self.cluster.store.list(of)[0]:
            self.cluster.kinds.serve_custom(definition["metadata"]["name"], ())
            self._without(_DEFINITIONS, definition, definitions.CLEANUP)

    def _empty_namespace(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        for kind in self._kinds():
            if kind.namespaced:
                for each in self.cluster.store.list(kind.stored_as, name)[0]:
                    if not each["metadata"].get("deletionTimestamp"):
                        self._remove(kind, each, "Background")
        left = [
            (kind, each)
            for kind in self._kinds()
            if kind.namespaced
            for each in self.cluster.store.list(kind.stored_as, name)[0]
        ]
        if left:
            self._replace(
                _NAMESPACES,
                namespace,
                {
                    **namespace,
                    "status": {
                        "phase": "Terminating",
                        "conditions": remaining_conditions(left, namespace),
                    },
                },
            )
        elif namespace["spec"].get("finalizers"):
            emptied = self._replace(_NAMESPACES, namespace, {**namespace, "spec": {}})
            if emptied is not None and not emptied["metadata"].get("finalizers"):
                self._replace(_NAMESPACES, emptied, None)

    def _kinds(self) -> list[Kind]:
        return self.cluster.kinds.one_of_each()

    def _dependents(self, owner: Object) -> list[tuple[Kind, Object]]:
        uid = owner["metadata"]["uid"]
        kinds = {kind.stored_as: kind for kind in self._kinds()}
        return [
            (kinds[of], one)
            for of, one in self.cluster.store.everything()
            if of in kinds
            and any(each.get("uid") == uid for each in one["metadata"].get("ownerReferences") or ())
        ]

    def _remove(self, kind: Kind, obj: Object, propagation: str) -> None:
        try:
            delete(
                self.cluster,
                kind,
                _place(obj),
                DeleteOptions(propagation, uid=obj["metadata"]["uid"]),
            )
        except Refusal:
            pass  # gone already, or a webhook refused: the next change brings us back

    def _without(self, of: tuple[str, str], one: Object, finalizer: str) -> None:
        live = self.cluster.store.get(of, _place(one))
        if live is None:
            return
        left = [each for each in live["metadata"].get("finalizers") or () if each != finalizer]
        metadata = {**live["metadata"], "finalizers": left}
        self._replace(of, live, {**live, "metadata": metadata} if left else None)

    def _replace(self, of: tuple[str, str], seen: Object, wanted: Object | None) -> Object | None:
        if wanted == seen:
            return seen
        try:
            return self.cluster.store.put(of, _place(seen), seen, wanted)
        except Moved:
            return None  # its own event brings us back


def _place(one: Object) -> Place:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


def _blocks(dependent: Object, owner: Object) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(
        each["uid"] == owner["metadata"]["uid"] and each.get("blockOwnerDeletion")
        for each in references
    )
