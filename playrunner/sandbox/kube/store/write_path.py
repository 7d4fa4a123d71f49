"""What every write goes through: shape, defaults, metadata, admission, rules, ownership; then it is
put, or only pretended."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.names import generated
from playrunner.sandbox.kube.schema.problems import (
    Undecodable,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    not_found,
)
from playrunner.sandbox.kube.schema.structure import Shaping, with_defaults
from playrunner.sandbox.kube.store import (
    admission_plugins,
    events,
    pod_rules,
    quotas,
    webhooks,
)
from playrunner.sandbox.kube.store.cluster import Cluster, new_uid, now
from playrunner.sandbox.kube.store.ownership import after_update
from playrunner.sandbox.kube.store.policies.admission import require_policies
from playrunner.sandbox.kube.store.rules.defaults import fill_defaults, new_status
from playrunner.sandbox.kube.store.store import Moved, Object, Place
from playrunner.sandbox.kube.store.write_checks import (
    require_kind,
    require_same,
    require_sound,
    undecodable,
)
from playrunner.sandbox.kube.store.write_options import WriteOptions

_ATTEMPTS = 8
_SERVER_KEPT = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)


class Writer:
    """Writes to one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def create(self, kind: Kind, namespace: str, body: Object, options: WriteOptions) -> Object:
        obj = self._shaped(kind, events.stored(kind, body), options)
        obj["metadata"] = self._new_metadata(
            kind, namespace, dict(obj.get("metadata") or {}), options
        )
        if kind.has_status and kind.type_name != "core.v1.Node":
            obj.pop("status", None)
        obj = self._defaulted(kind, obj)
        if not options.owned:
            obj = self._owned(kind, None, obj, options)
        if kind.has_status and not kind.custom:
            obj.setdefault("status", new_status(kind.type_name))
        obj = self._admitted(kind, obj, None, options)
        place = (namespace if kind.namespaced else "", obj["metadata"]["name"])
        if self.cluster.store.get(kind.stored_as, place) is not None:
            raise already_exists(kind, place[1])
        if kind.namespaced:
            pod_rules.require_pod_rules(self.cluster, kind, obj, options.warnings)
            quotas.require_quota(self.cluster, kind, obj)
        if options.dry_run:
            return obj
        try:
            return self.cluster.store.put(kind.stored_as, place, None, obj)
        except Moved:
            raise already_exists(kind, place[1]) from None

    def _new_metadata(
        self, kind: Kind, namespace: str, metadata: Object, options: WriteOptions
    ) -> Object:
        """The metadata of a new object: its place checked, its name generated, and the fields that
        the server keeps."""
        if kind.namespaced:
            if metadata.setdefault("namespace", namespace) != namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the"
                    " request"
                )
        else:
            metadata.pop("namespace", None)
        if metadata.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        prefix = metadata.get("generateName")
        if not metadata.get("name") and prefix:
            metadata["name"] = generated(prefix)
        if kind.namespaced:
            admission_plugins.require_namespace(
                self.cluster, kind, namespace, metadata.get("name", "")
            )
        for name in (*_SERVER_KEPT, *(() if options.owned else ("managedFields",))):
            metadata.pop(name, None)
        metadata |= {"uid": new_uid(), "creationTimestamp": now()}
        if kind.counts_generations:
            metadata["generation"] = 1
        return metadata

    def change(
        self,
        kind: Kind,
        place: Place,
        make: Callable[[Object], Object],
        options: WriteOptions,
        *,
        replaces: bool = False,
    ) -> Object:
        """Make a new object from the one that is there; tried again when someone else was quicker
        and the options allow it."""
        for _ in range(_ATTEMPTS):
            live = self.cluster.store.get(kind.stored_as, place)
            if live is None:
                raise not_found(kind, place[1])
            wanted = make(live)
            changed = self._changed(kind, live, wanted, options, replaces=replaces)
            if changed == live or options.dry_run:
                return changed
            gone = changed["metadata"].get("deletionTimestamp") and not changed["metadata"].get(
                "finalizers"
            )
            if gone and live["metadata"].get("finalizers") and not _waits(kind, changed):
                return self._finish(kind, place, live, changed)
            try:
                return self.cluster.store.put(kind.stored_as, place, live, changed)
            except Moved:
                continue
        raise conflict(kind, place[1])

    def _finish(self, kind: Kind, place: Place, live: Object, changed: Object) -> Object:
        """The last finalizer is gone, and so is the object."""
        try:
            self.cluster.store.put(kind.stored_as, place, live, None)
        except Moved:
            raise conflict(kind, place[1]) from None
        return changed

    def _changed(
        self, kind: Kind, live: Object, wanted: Object, options: WriteOptions, *, replaces: bool
    ) -> Object:
        name = live["metadata"]["name"]
        obj = self._shaped(kind, events.stored(kind, wanted), options)
        metadata = obj["metadata"] = dict(obj.get("metadata") or {})
        require_same(kind, live, metadata, replaces=replaces)
        reset = metadata.get("managedFields") == [{}]
        for field_name in (*_SERVER_KEPT, "resourceVersion", "name", "namespace"):
            metadata.pop(field_name, None)
            if field_name in live["metadata"]:
                metadata[field_name] = live["metadata"][field_name]
        if options.subresource == "status":
            kept = {
                **live["metadata"],
                "managedFields": metadata.get(
                    "managedFields", live["metadata"].get("managedFields")
                ),
            }
            obj = {
                **live,
                "metadata": kept,
                **({"status": obj["status"]} if "status" in obj else {}),
            }
            if not kept["managedFields"]:
                del kept["managedFields"]
        elif kind.has_status:
            obj.pop("status", None)
            if "status" in live:
                obj["status"] = live["status"]
        obj = self._defaulted(kind, obj)
        if reset:
            obj["metadata"].pop("managedFields", None)
        elif not options.owned:
            obj = self._owned(kind, live, obj, options)
        obj = self._admitted(kind, obj, live, options)
        if kind.counts_generations and _spec_of(kind, obj) != _spec_of(kind, live):
            obj["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1
        added = set(obj["metadata"].get("finalizers") or ()) - set(
            live["metadata"].get("finalizers") or ()
        )
        if live["metadata"].get("deletionTimestamp") and added:
            why = (
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is"
                " being deleted"
            )
            raise forbidden(kind, name, why)
        return obj

    def _owned(self, kind: Kind, live: Object | None, obj: Object, options: WriteOptions) -> Object:
        """With the writer as owner of what it changed; what the server adds after this has
        no owner."""
        owned = after_update(live, obj, kind.schema, options.owner(kind))
        return {**owned, "metadata": dict(owned["metadata"])}

    def _shaped(self, kind: Kind, body: Any, options: WriteOptions) -> Object:
        require_kind(kind, body)
        shaping = Shaping(kind.kind)
        try:
            shaped = (
                shaping.custom(body, kind.schema)
                if kind.custom
                else shaping.builtin(body, events.schema(kind))
            )
            if shaping.unknown and options.field_validation == "Strict":
                listed = ", ".join(f'unknown field "{path}"' for path in shaping.unknown)
                raise Undecodable(f"strict decoding error: {listed}")
        except Undecodable as error:
            raise undecodable(kind, body, options, error) from error
        if options.field_validation in ("Warn", ""):
            options.warnings.extend(f'unknown field "{path}"' for path in shaping.unknown)
        found: Object = copy.deepcopy(shaped)
        return found

    def _admitted(
        self, kind: Kind, obj: Object, before: Object | None, options: WriteOptions
    ) -> Object:
        """Plugins, mutating webhooks, rules, policies, validating webhooks; in this order."""
        admission_plugins.complete(self.cluster, kind, obj, before)
        changed = webhooks.mutated(self.cluster, kind, obj, before, options)
        if changed is not obj:
            obj = self._defaulted(
                kind, self._shaped(kind, changed, replace(options, field_validation="Ignore"))
            )
            admission_plugins.complete(self.cluster, kind, obj, before)
        require_sound(kind, obj, before)
        require_policies(self.cluster, kind, obj, before, options)
        webhooks.validate(self.cluster, kind, obj, before, options)
        return obj

    def _defaulted(self, kind: Kind, obj: Object) -> Object:
        if kind.custom:
            completed: Object = with_defaults(obj, kind.schema)
            return completed
        fill_defaults(kind.type_name, obj)
        return obj


def _spec_of(kind: Kind, obj: Object) -> Object:
    """What counts as a new generation."""
    left_out = {"metadata", "apiVersion", "kind"} | (
        {"status"} if kind.has_status or not kind.custom else set()
    )
    return {name: value for name, value in obj.items() if name not in left_out}


def _waits(kind: Kind, obj: Object) -> bool:
    """A namespace stays until it is empty, whatever its metadata says; a pod until its node has
    ended it."""
    if kind.type_name == "core.v1.Namespace":
        return bool(obj.get("spec", {}).get("finalizers"))
    return (
        kind.type_name == "core.v1.Pod" and obj["metadata"].get("deletionGracePeriodSeconds", 0) > 0
    )
