"""A set: objects that are declared together, known again by a label, and listed in a record of
their own.

The record (a ConfigMap) says of which kinds and namespaces the set consists. It is written before
anything is made and shortened after things were taken away, so that what an earlier declaration
made is found again, and a set can be removed without its template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playrunner.cloud.owner import Owner
from playrunner.errors import BadInput
from playrunner.hostside.module import Failed
from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import Resource, defined_by, group_of
from playrunner.kube.objects.compare import CLUSTER, SET, marked
from playrunner.kube.objects.manifest import Manifest, title

FEW = 4  # so many objects are looked up one by one; more are listed with everything of their kind
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")

Ident = tuple[str, str, str, str]  # group, kind, namespace, name
Home = tuple[str, str, str]  # apiVersion, kind, namespace


@dataclass(frozen=True)
class Wanted:
    """One object of the set as it is applied."""

    manifest: Manifest
    resource: Resource
    body: dict[str, Any]
    served: bool  # False while its definition, in the same set, is still to be made

    @property
    def api_version(self) -> str:
        return self.resource.api_version

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"].get("namespace") or "")

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def ident(self) -> Ident:
        return group_of(self.api_version), self.kind, self.namespace, self.name

    @property
    def key(self) -> str:
        return key_of(self.ident)


@dataclass(frozen=True)
class Live:
    """One object as it was found."""

    resource: Resource
    thing: dict[str, Any]

    @property
    def api_version(self) -> str:
        return self.resource.api_version

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def namespace(self) -> str:
        return str(self.thing["metadata"].get("namespace") or "")

    @property
    def name(self) -> str:
        return str(self.thing["metadata"]["name"])

    @property
    def ident(self) -> Ident:
        return group_of(self.api_version), self.kind, self.namespace, self.name

    @property
    def key(self) -> str:
        return key_of(self.ident)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.thing["metadata"].get("labels") or {}

    @property
    def title(self) -> str:
        return title(self.thing)


def key_of(ident: Ident) -> str:
    """How an object is called in states and diffs: Deployment kube-system/x, Job.batch.volcano.sh
    default/y."""
    group, kind, namespace, name = ident
    own = "." in group and not group.endswith(".k8s.io")
    return f"{kind}{f'.{group}' if own else ''} {f'{namespace}/' if namespace else ''}{name}"


@dataclass(frozen=True)
class Seen:
    """What was found of a set."""

    wanted: dict[Ident, Wanted] = field(default_factory=dict)
    ours: dict[Ident, Live] = field(default_factory=dict)  # carry the set's label, declared or not
    foreign: dict[Ident, Live] = field(default_factory=dict)  # declared, there, and not ours
    homes: frozenset[Home] | None = None  # what the record says; None without one

    @property
    def stale(self) -> list[Live]:
        """Ours, and not declared any more."""
        return [live for ident, live in self.ours.items() if ident not in self.wanted]

    def live(self, ident: Ident) -> Live | None:
        return self.ours.get(ident) or self.foreign.get(ident)


class ObjectSet:
    """One set in one cluster."""

    def __init__(
        self, kube: Kube, owner: Owner, name: str, record_namespace: str = "default"
    ) -> None:
        if not _NAME.fullmatch(name):
            raise BadInput(
                f'a set cannot be called "{name}"; its name is made of small letters, digits,'
                " dashes and dots"
            )
        self.kube, self.owner, self.name, self.record_namespace = (
            kube,
            owner,
            name,
            record_namespace,
        )
        self.labels = {CLUSTER: owner.cluster, SET: name}
        self.selector = ",".join(f"{key}={value}" for key, value in self.labels.items())
        self._record_name = f"playrunner-{owner.cluster.lower()}-{name}"

    def look(self, manifests: Sequence[Manifest], namespace: str) -> Seen:
        """What there is of the set, with one LIST per kind and namespace where the set is there
        already."""
        record = self._configmaps.path(self.record_namespace, self._record_name)
        versions = sorted({one.api_version for one in manifests})
        first = self.kube.together(
            lambda ask: ask(),
            [
                lambda: self.kube.read(record),
                *(lambda version=version: self.kube.resource(version, "") for version in versions),
            ],
        )
        homes = _homes(first[0]) if first[0] else None
        wanted = {one.ident: one for one in self._wanted(manifests, namespace)}
        found = self._labelled(wanted.values(), homes) if homes is not None else {}
        found.update(
            self._unlabelled(
                [one for ident, one in wanted.items() if ident not in found and one.served]
            )
        )
        ours = {ident: live for ident, live in found.items() if self._is_ours(live)}
        foreign = {
            ident: live for ident, live in found.items() if ident in wanted and ident not in ours
        }
        return Seen(wanted, ours, foreign, homes)

    def remember(self, homes: Iterable[Home], known: frozenset[Home] | None) -> None:
        """Have the record say so, unless it does."""
        wanted = frozenset(homes)
        if wanted == known:
            return
        data = {"objects": json.dumps(sorted(wanted), separators=(",", ":"))}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self._record_name},
            "data": data,
        }
        self.kube.apply(
            self._configmaps,
            marked(body, self.labels, self.owner.run, self.record_namespace),
            force=True,
        )

    def forget(self) -> None:
        self.kube.delete(self._configmaps, self.record_namespace, self._record_name)

    @property
    def _configmaps(self) -> Resource:
        return Resource("v1", "ConfigMap", "configmaps", True)

    def _wanted(self, manifests: Sequence[Manifest], namespace: str) -> list[Wanted]:
        coming = {
            (one.api_version, one.kind): one
            for manifest in manifests
            if manifest.kind == "CustomResourceDefinition"
            for one in defined_by(manifest.body)
        }
        found = []
        for one in manifests:
            served = self.kube.resource(one.api_version, one.kind)
            resource = served or coming.get((one.api_version, one.kind)) or self._unknown(one)
            if one.namespace and not resource.namespaced:
                raise BadInput(
                    f"metadata.namespace: {one.kind} objects belong to no namespace",
                    one.place("metadata.namespace"),
                )
            home = (
                (one.namespace or namespace or self.kube.namespace) if resource.namespaced else ""
            )
            found.append(
                Wanted(
                    one,
                    resource,
                    marked(one.body, self.labels, self.owner.run, home),
                    served is not None,
                )
            )
        return found

    def _unknown(self, one: Manifest) -> Resource:
        try:
            return self.kube.known(one.api_version, one.kind)
        except Failed as error:
            raise BadInput(f"kind: {error}", one.place("kind")) from None

    def _labelled(self, wanted: Iterable[Wanted], homes: frozenset[Home]) -> dict[Ident, Live]:
        """Everything that carries the set's label, where the set is known to have objects."""
        all_homes = {(one.resource, one.namespace) for one in wanted if one.served}
        known = {
            (resource.api_version, resource.kind, namespace) for resource, namespace in all_homes
        }
        for version, kind, namespace in homes - known:
            resource = self.kube.resource(version, kind)
            if resource:
                all_homes.add((resource, namespace))
        lists = self.kube.together(
            lambda home: (home[0], self.kube.listing(home[0], home[1], self.selector)), all_homes
        )
        found = {}
        for resource, listing in lists:
            for thing in listing.items:
                live = Live(resource, thing)
                if (live.kind, live.name, live.namespace) != (
                    "ConfigMap",
                    self._record_name,
                    self.record_namespace,
                ):
                    found[live.ident] = live
        return found

    def _unlabelled(self, missing: Sequence[Wanted]) -> dict[Ident, Live]:
        """What there is of these whether it is ours or not: few are asked for by name, many are
        listed."""
        by_home: dict[tuple[Resource, str], list[Wanted]] = {}
        for one in missing:
            by_home.setdefault((one.resource, one.namespace), []).append(one)
        many = [home for home, group in by_home.items() if len(group) > FEW]
        few = [one for group in by_home.values() if len(group) <= FEW for one in group]
        wanted = {one.ident for one in missing}
        found = [
            Live(resource, thing)
            for resource, listing in self.kube.together(
                lambda home: (home[0], self.kube.listing(home[0], home[1])), many
            )
            for thing in listing.items
        ]
        for one, thing in zip(
            few,
            self.kube.together(
                lambda one: self.kube.get(one.resource, one.namespace, one.name), few
            ),
            strict=True,
        ):
            if thing is not None:
                found.append(Live(one.resource, thing))
        return {live.ident: live for live in found if live.ident in wanted}

    def _is_ours(self, live: Live) -> bool:
        return all(live.labels.get(key) == value for key, value in self.labels.items())


def homes_of(things: Iterable[Wanted | Live]) -> frozenset[Home]:
    return frozenset((one.api_version, one.kind, one.namespace) for one in things)


def _homes(record: Mapping[str, Any]) -> frozenset[Home]:
    try:
        return frozenset(
            (str(version), str(kind), str(namespace))
            for version, kind, namespace in json.loads(
                (record.get("data") or {}).get("objects", "[]")
            )
        )
    except (ValueError, TypeError):
        return frozenset()
