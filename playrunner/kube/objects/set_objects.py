"""The objects of a set: as declared, as they are in the cluster, and both side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.kube.client.resource import Resource, group_of
from playrunner.kube.objects.manifest import Manifest, title

Identity = tuple[str, str, str, str]  # group, kind, namespace, name
RecordEntry = tuple[str, str, str]  # apiVersion, kind, namespace


class SetObject:
    """An object of a set, by its resource and body."""

    resource: Resource
    body: dict[str, Any]

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
        return str(self.body["metadata"]["name"])

    @property
    def identity(self) -> Identity:
        return group_of(self.api_version), self.kind, self.namespace, self.name

    @property
    def key(self) -> str:
        return key_of(self.identity)


@frozen
class DeclaredObject(SetObject):
    """An object of the set as it is applied."""

    manifest: Manifest
    resource: Resource
    body: dict[str, Any]
    served: bool  # False while its definition, in the same set, is still to be created


@frozen
class LiveObject(SetObject):
    """An object as it is in the cluster."""

    resource: Resource
    body: dict[str, Any]

    @property
    def uid(self) -> str:
        return str(self.body["metadata"].get("uid") or "")

    @property
    def labels(self) -> Mapping[str, str]:
        return self.body["metadata"].get("labels") or {}

    @property
    def title(self) -> str:
        return title(self.body)


def key_of(identity: Identity) -> str:
    """An object's name in states and diffs: Deployment kube-system/x, Job.batch.volcano.sh
    default/y."""
    group, kind, namespace, name = identity
    custom = "." in group and not group.endswith(".k8s.io")
    return f"{kind}{f'.{group}' if custom else ''} {f'{namespace}/' if namespace else ''}{name}"


@frozen
class ObservedSet:
    """A set as declared and as it is in the cluster."""

    declared: dict[Identity, DeclaredObject] = field(default_factory=dict)
    ours: dict[Identity, LiveObject] = field(default_factory=dict)  # with the set's label
    foreign: dict[Identity, LiveObject] = field(default_factory=dict)  # declared, without it
    recorded: frozenset[RecordEntry] | None = None  # None without a record

    @property
    def stale(self) -> list[LiveObject]:
        """Ours, and no longer declared."""
        return [live for identity, live in self.ours.items() if identity not in self.declared]

    def live(self, identity: Identity) -> LiveObject | None:
        return self.ours.get(identity) or self.foreign.get(identity)
