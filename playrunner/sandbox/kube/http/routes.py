"""Which object or list a path means."""

from __future__ import annotations

from dataclasses import dataclass

from playrunner.sandbox.kube.schema.kinds import Kind, Kinds
from playrunner.sandbox.kube.schema.problems import no_such_path


@dataclass(frozen=True)
class Route:
    """A kind, and which of its objects."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # what follows a proxy
    watch: bool = False  # the old way to ask for a watch, by path

    @property
    def place(self) -> tuple[str, str]:
        return self.namespace, self.name


def route(kinds: Kinds, path: str) -> Route:
    """As `/apis/apps/v1/namespaces/default/deployments/web/scale`."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        raise no_such_path()
    watch = parts[0] == "watch" and len(parts) > 1
    if watch:
        parts = parts[1:]
    namespace = ""
    if (
        parts[0] == "namespaces"
        and len(parts) > 2
        and kinds.find(group, version, parts[2]) is not None
    ):
        namespace, parts = parts[1], parts[2:]
    kind = kinds.find(group, version, parts[0])
    if kind is None or bool(namespace) > kind.namespaced:
        raise no_such_path()
    name, subresource, *rest = [*parts[1:], "", ""]
    if subresource and subresource not in kind.subresources:
        raise no_such_path()
    return Route(kind, namespace, name, subresource, "/".join(filter(None, rest)), watch)
