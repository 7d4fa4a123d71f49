"""A set: objects that are declared together, carry one label, and are listed in a record.

The record (a ConfigMap) lists the kinds and namespaces of the set's objects. It is written before
anything is created and shortened after objects were deleted, so that objects of an earlier
declaration are found again, and a set can be deleted without its template.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from playrunner.cloud.owner import Owner
from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube, Listing
from playrunner.kube.client.errors import KubeError
from playrunner.kube.client.resource import Resource, defined_by
from playrunner.kube.objects.compare import CLUSTER, SET, marked
from playrunner.kube.objects.manifest import Manifest
from playrunner.kube.objects.set_objects import (
    DeclaredObject,
    Identity,
    LiveObject,
    ObservedSet,
    RecordEntry,
)

Answer = TypeVar("Answer")
FEW = 4  # so many objects are read by name; more are listed with everything of their kind
CONFIG_MAPS = Resource("v1", "ConfigMap", "configmaps", True)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")


class ObjectSet:
    """A set of objects in a cluster."""

    def __init__(
        self,
        kube: Kube,
        owner: Owner,
        name: str,
        record_namespace: str = "default",
        only_shown: bool = False,
    ) -> None:
        """With `only_shown` nothing will be changed, and kinds that the user may not see are left
        out; `unseen` has them."""
        if not _NAME.fullmatch(name):
            raise BadInput(
                f'a set cannot be called "{name}"; its name is made of small letters, digits,'
                " dashes and dots"
            )
        self.kube, self.owner, self.name = kube, owner, name
        self.record_namespace, self.only_shown = record_namespace, only_shown
        self.unseen: set[str] = set()
        self.labels = {CLUSTER: owner.cluster, SET: name}
        self.selector = ",".join(f"{key}={value}" for key, value in self.labels.items())
        self._record_name = f"playrunner-{owner.cluster.lower()}-{name}"

    def observe(self, manifests: Sequence[Manifest], namespace: str) -> ObservedSet:
        """The set as declared and as it is, with one LIST per kind and namespace once the set
        exists."""
        record_path = CONFIG_MAPS.path(self.record_namespace, self._record_name)
        versions = sorted({manifest.api_version for manifest in manifests})
        record, *_ = self.kube.together(
            lambda ask: ask(),
            [
                lambda: self.kube.read(record_path),
                *(lambda version=version: self.kube.resource(version, "") for version in versions),
            ],
        )
        recorded = _entries_in(record) if record else None
        declared = {
            declared.identity: declared for declared in self._declared_objects(manifests, namespace)
        }
        live = self._labelled(declared.values(), recorded) if recorded is not None else {}
        live |= self._by_name(
            [
                declared
                for identity, declared in declared.items()
                if identity not in live and declared.served
            ]
        )
        ours = {identity: found for identity, found in live.items() if self._is_ours(found)}
        foreign = {
            identity: found
            for identity, found in live.items()
            if identity in declared and identity not in ours
        }
        return ObservedSet(declared, ours, foreign, recorded)

    def write_record(
        self, entries: frozenset[RecordEntry], recorded: frozenset[RecordEntry] | None
    ) -> None:
        """Make the record list these entries, unless it does."""
        if entries == recorded:
            return
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._record_name},
            "data": {"objects": json.dumps(sorted(entries), separators=(",", ":"))},
        }
        self.kube.apply(
            CONFIG_MAPS,
            marked(body, self.labels, self.owner.run, self.record_namespace),
            force=True,
        )

    def delete_record(self) -> None:
        self.kube.delete(CONFIG_MAPS, self.record_namespace, self._record_name)

    def _declared_objects(
        self, manifests: Sequence[Manifest], namespace: str
    ) -> list[DeclaredObject]:
        defined = {
            (resource.api_version, resource.kind): resource
            for manifest in manifests
            if manifest.kind == "CustomResourceDefinition"
            for resource in defined_by(manifest.body)
        }
        objects = []
        for manifest in manifests:
            kind = manifest.api_version, manifest.kind
            served = self.kube.resource(*kind)
            resource = served or defined.get(kind) or self._required_resource(manifest)
            if manifest.namespace and not resource.namespaced:
                raise BadInput(
                    f"metadata.namespace: {manifest.kind} objects belong to no namespace",
                    manifest.place("metadata.namespace"),
                )
            home = manifest.namespace or namespace or self.kube.namespace
            body = marked(
                manifest.body, self.labels, self.owner.run, home if resource.namespaced else ""
            )
            objects.append(DeclaredObject(manifest, resource, body, served is not None))
        return objects

    def _required_resource(self, manifest: Manifest) -> Resource:
        try:
            return self.kube.known(manifest.api_version, manifest.kind)
        except Failed as error:
            raise BadInput(f"kind: {error}", manifest.place("kind")) from None

    def _labelled(
        self, declared: Iterable[DeclaredObject], recorded: frozenset[RecordEntry]
    ) -> dict[Identity, LiveObject]:
        """Every object with the set's label, in the kinds and namespaces that are declared or
        recorded."""
        places = {(wanted.resource, wanted.namespace) for wanted in declared if wanted.served}
        entries = {(resource.api_version, resource.kind, home) for resource, home in places}
        for version, kind, namespace in recorded - entries:
            resource = self.kube.resource(version, kind)
            if resource:
                places.add((resource, namespace))
        listings = self.kube.together(
            lambda place: (place[0], self._listing(place[0], place[1], self.selector)), places
        )
        record = "ConfigMap", self.record_namespace, self._record_name
        objects = [
            LiveObject(resource, body) for resource, listing in listings for body in listing.items
        ]
        return {
            live.identity: live
            for live in objects
            if (live.kind, live.namespace, live.name) != record
        }

    def _listing(self, resource: Resource, namespace: str, selector: str = "") -> Listing:
        read = functools.partial(self.kube.listing, resource, namespace, selector)
        return self._seen(resource, read, Listing([], ""))

    def _seen(self, resource: Resource, read: Callable[[], Answer], otherwise: Answer) -> Answer:
        try:
            return read()
        except KubeError as error:
            if not (self.only_shown and error.forbidden):
                raise
            self.unseen.add(resource.plural)
            return otherwise

    def _by_name(self, declared: Sequence[DeclaredObject]) -> dict[Identity, LiveObject]:
        """The live objects of these names, ours or not: few are read by name, many are listed."""
        by_place: dict[tuple[Resource, str], list[DeclaredObject]] = {}
        for item in declared:
            by_place.setdefault((item.resource, item.namespace), []).append(item)
        listed = [place for place, group in by_place.items() if len(group) > FEW]
        few = [item for group in by_place.values() if len(group) <= FEW for item in group]
        objects = [
            LiveObject(resource, body)
            for resource, listing in self.kube.together(
                lambda place: (place[0], self._listing(place[0], place[1])), listed
            )
            for body in listing.items
        ]
        bodies = self.kube.together(
            lambda item: self._seen(
                item.resource,
                lambda: self.kube.get(item.resource, item.namespace, item.name),
                None,
            ),
            few,
        )
        objects += [
            LiveObject(item.resource, body)
            for item, body in zip(few, bodies, strict=True)
            if body is not None
        ]
        identities = {item.identity for item in declared}
        return {live.identity: live for live in objects if live.identity in identities}

    def _is_ours(self, live: LiveObject) -> bool:
        return all(live.labels.get(key) == value for key, value in self.labels.items())


def record_entries(objects: Iterable[DeclaredObject | LiveObject]) -> frozenset[RecordEntry]:
    return frozenset((item.api_version, item.kind, item.namespace) for item in objects)


def _entries_in(record: Mapping[str, Any]) -> frozenset[RecordEntry]:
    try:
        return frozenset(
            (str(version), str(kind), str(namespace))
            for version, kind, namespace in json.loads(
                (record.get("data") or {}).get("objects", "[]")
            )
        )
    except (ValueError, TypeError):
        return frozenset()
