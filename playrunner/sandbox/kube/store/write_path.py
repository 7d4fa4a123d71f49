"""What every write goes through: shape, defaults, metadata, admission, rules, ownership; then it is
put, or only pretended."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.names import generated, metadata_problems
from playrunner.sandbox.kube.schema.problems import (
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    not_found,
)
from playrunner.sandbox.kube.schema.structure import Shaping, with_defaults
from playrunner.sandbox.kube.store import admission_plugins, definitions, events, quotas, webhooks
from playrunner.sandbox.kube.store.cluster import Cluster, new_uid, now
from playrunner.sandbox.kube.store.ownership import after_update
from playrunner.sandbox.kube.store.rules.defaults import fill_defaults, new_status
from playrunner.sandbox.kube.store.rules.immutable import change_problems
from playrunner.sandbox.kube.store.rules.rules import rule_problems
from playrunner.sandbox.kube.store.rules.validation import problems_of
from playrunner.sandbox.kube.store.store import Moved, Object, Place
from playrunner.sandbox.kube.store.write_options import Way

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

    def create(self, kind: Kind, namespace: str, body: Object, way: Way) -> Object:
        one = self._shaped(kind, events.stored(kind, body), way)
        metadata = one["metadata"] = dict(one.get("metadata") or {})
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
        for name in (*_SERVER_KEPT, *(() if way.owned else ("managedFields",))):
            metadata.pop(name, None)
        metadata |= {"uid": new_uid(), "creationTimestamp": now()}
        if kind.counts_generations:
            metadata["generation"] = 1
        if kind.has_status and kind.type_name != "core.v1.Node":
            one.pop("status", None)
        one = self._defaulted(kind, one)
        if not way.owned:
            one = self._owned(kind, None, one, way)
        if kind.has_status and not kind.custom:
            one.setdefault("status", new_status(kind.type_name))
        one = self._admitted(kind, one, None, way)
        place = (namespace if kind.namespaced else "", one["metadata"]["name"])
        if self.cluster.store.get(kind.stored_as, place) is not None:
            raise already_exists(kind, place[1])
        if kind.namespaced:
            quotas.require_quota(self.cluster, kind, one)
        if way.dry_run:
            return one
        try:
            return self.cluster.store.put(kind.stored_as, place, None, one)
        except Moved:
            raise already_exists(kind, place[1]) from None

    def change(
        self,
        kind: Kind,
        place: Place,
        make: Callable[[Object], Object],
        way: Way,
        *,
        replaces: bool = False,
    ) -> Object:
        """Make a new object from the one that is there; tried again when someone else was quicker
        and the wish allows it."""
        for _ in range(_ATTEMPTS):
            live = self.cluster.store.get(kind.stored_as, place)
            if live is None:
                raise not_found(kind, place[1])
            wanted = make(live)
            one = self._changed(kind, live, wanted, way, replaces=replaces)
            if one == live or way.dry_run:
                return one
            gone = one["metadata"].get("deletionTimestamp") and not one["metadata"].get(
                "finalizers"
            )
            if gone and live["metadata"].get("finalizers") and not _waits(kind, one):
                return self._finish(kind, place, live, one)
            try:
                return self.cluster.store.put(kind.stored_as, place, live, one)
            except Moved:
                continue
        raise conflict(kind, place[1])

    def _finish(self, kind: Kind, place: Place, live: Object, one: Object) -> Object:
        """The last finalizer is gone, and so is the object."""
        try:
            self.cluster.store.put(kind.stored_as, place, live, None)
        except Moved:
            raise conflict(kind, place[1]) from None
        return one

    def _changed(
        self, kind: Kind, live: Object, wanted: Object, way: Way, *, replaces: bool
    ) -> Object:
        name = live["metadata"]["name"]
        one = self._shaped(kind, events.stored(kind, wanted), way)
        metadata = one["metadata"] = dict(one.get("metadata") or {})
        self._require_same(kind, live, metadata, replaces=replaces)
        reset = metadata.get("managedFields") == [{}]
        for field_name in (*_SERVER_KEPT, "resourceVersion", "name", "namespace"):
            metadata.pop(field_name, None)
            if field_name in live["metadata"]:
                metadata[field_name] = live["metadata"][field_name]
        if way.subresource == "status":
            kept = {
                **live["metadata"],
                "managedFields": metadata.get(
                    "managedFields", live["metadata"].get("managedFields")
                ),
            }
            one = {
                **live,
                "metadata": kept,
                **({"status": one["status"]} if "status" in one else {}),
            }
            if not kept["managedFields"]:
                del kept["managedFields"]
        elif kind.has_status:
            one.pop("status", None)
            if "status" in live:
                one["status"] = live["status"]
        one = self._defaulted(kind, one)
        if reset:
            one["metadata"].pop("managedFields", None)
        elif not way.owned:
            one = self._owned(kind, live, one, way)
        one = self._admitted(kind, one, live, way)
        if kind.counts_generations and _spec_of(kind, one) != _spec_of(kind, live):
            one["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1
        added = set(one["metadata"].get("finalizers") or ()) - set(
            live["metadata"].get("finalizers") or ()
        )
        if live["metadata"].get("deletionTimestamp") and added:
            why = (
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is"
                " being deleted"
            )
            raise forbidden(kind, name, why)
        return one

    def _owned(self, kind: Kind, live: Object | None, one: Object, way: Way) -> Object:
        """With the writer as owner of what it changed; what the server adds after this belongs to
        nobody."""
        owned = after_update(live, one, kind.schema, way.owner(kind))
        return {**owned, "metadata": dict(owned["metadata"])}

    def _require_same(self, kind: Kind, live: Object, metadata: Object, *, replaces: bool) -> None:
        name = live["metadata"]["name"]
        if metadata.get("name", name) != name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL"
                f" ({name})"
            )
        if metadata.get("namespace", live["metadata"].get("namespace")) != live["metadata"].get(
            "namespace"
        ):
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the"
                " request"
            )
        if metadata.get("uid", live["metadata"]["uid"]) != live["metadata"]["uid"]:
            why = (
                f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta:"
                f" {live['metadata']['uid']}"
            )
            raise conflict(kind, name, why)
        version = metadata.get("resourceVersion")
        if version and version != live["metadata"]["resourceVersion"]:
            raise conflict(kind, name)
        if replaces and not version and kind.custom:
            raise invalid(
                kind,
                name,
                [
                    invalid_value(
                        "metadata.resourceVersion", "0x0", "must be specified for an update"
                    )
                ],
            )

    def _shaped(self, kind: Kind, body: Any, way: Way) -> Object:
        _require_kind(kind, body)
        shaping = Shaping(f'{kind.kind} in version "{kind.version}"')
        one = (
            shaping.custom(body, kind.schema)
            if kind.custom
            else shaping.builtin(body, events.schema(kind))
        )
        if shaping.unknown and way.field_validation == "Strict":
            listed = ", ".join(f'unknown field "{path}"' for path in shaping.unknown)
            raise bad_request(f"strict decoding error: {listed}")
        if way.field_validation in ("Warn", ""):
            way.warnings.extend(f'unknown field "{path}"' for path in shaping.unknown)
        found: Object = copy.deepcopy(one)
        return found

    def _admitted(self, kind: Kind, one: Object, before: Object | None, way: Way) -> Object:
        """Plugins, mutating webhooks, rules, validating webhooks; in this order."""
        admission_plugins.complete(self.cluster, kind, one, before)
        changed = webhooks.mutated(self.cluster, kind, one, before, way)
        if changed is not one:
            one = self._defaulted(
                kind, self._shaped(kind, changed, replace(way, field_validation="Ignore"))
            )
            admission_plugins.complete(self.cluster, kind, one, before)
        self._require_sound(kind, one, before)
        webhooks.validate(self.cluster, kind, one, before, way)
        return one

    def _defaulted(self, kind: Kind, one: Object) -> Object:
        if kind.custom:
            completed: Object = with_defaults(one, kind.schema)
            return completed
        fill_defaults(kind.type_name, one)
        return one

    def _require_sound(self, kind: Kind, one: Object, before: Object | None) -> None:
        name = one["metadata"].get("name") or one["metadata"].get("generateName", "")
        problems = metadata_problems(kind, one["metadata"])
        if kind.custom:
            problems += problems_of(one, kind.schema)
        elif kind.type_name == "apiextensions.v1.CustomResourceDefinition":
            problems += definitions.definition_problems(one)
        elif kind.stored_as != ("", "events"):
            problems += rule_problems(kind.type_name, one, kind.schema)
        if before is not None and not kind.custom:
            problems += change_problems(kind.type_name, before, one)
        if problems:
            raise invalid(kind, name, problems)


def _require_kind(kind: Kind, body: Any) -> None:
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type " + kind.kind + ")")
    given = body.get("apiVersion", kind.api_version), body.get("kind", kind.kind)
    if given[1] != kind.kind:
        raise bad_request(
            f'{given[1]} in version "{given[0].rpartition("/")[2]}" cannot be handled as a'
            f" {kind.kind}: converting"
        )
    if given[0] != kind.api_version and events.other_version(kind) != given[0]:
        why = (
            f"the API version in the data ({given[0]}) does not match the expected API version"
            f" ({kind.api_version})"
        )
        raise bad_request(why)
    body.setdefault("apiVersion", kind.api_version)
    body.setdefault("kind", kind.kind)


def _spec_of(kind: Kind, one: Object) -> Object:
    """What counts as a new generation."""
    left_out = {"metadata", "apiVersion", "kind"} | (
        {"status"} if kind.has_status or not kind.custom else set()
    )
    return {name: value for name, value in one.items() if name not in left_out}


def _waits(kind: Kind, one: Object) -> bool:
    """A namespace stays until it is empty, whatever its metadata says; a pod until its node has
    ended it."""
    if kind.type_name == "core.v1.Namespace":
        return bool(one.get("spec", {}).get("finalizers"))
    return (
        kind.type_name == "core.v1.Pod" and one["metadata"].get("deletionGracePeriodSeconds", 0) > 0
    )
