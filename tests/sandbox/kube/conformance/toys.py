"""A kind of our own, served by a definition of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.sandbox.kube.conformance import ApiStage

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
            },
        },
    },
}


@dataclass(frozen=True)
class Toys:
    """A kind of our own, served."""

    stage: ApiStage
    group: str

    def path(self, name: str = "", sub: str = "") -> str:
        return self.stage.group(f"{self.group}/v1", "toys", name, sub)

    def toy(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Toy",
            "metadata": {"name": name},
            "spec": spec,
        }

    def make(self, name: str = "one", **spec: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.stage.api.ok("POST", self.path(), self.toy(name, **spec))
        return made


def definition(group: str, **version: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": SPEC,
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    served = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        **version,
    }
    names = {"plural": "toys", "kind": "Toy", "shortNames": ["ty"]}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": spec,
    }


@contextmanager
def toys(stage: ApiStage, body: dict[str, Any] | None = None, **version: Any) -> Iterator[Toys]:
    """A definition of our own, until it is served, and for as long as it is needed."""
    group = f"{stage.namespace}.example.com"
    stage.api.ok("POST", DEFINITIONS, body or definition(group, **version))
    try:
        stage.eventually(lambda: established(stage, group))
        found = Toys(stage, group)
        # A server serves a kind a moment after it says so.
        stage.eventually(lambda: stage.api.call("GET", found.path()).code == 200)
        yield found
    finally:
        stage.api.ok("DELETE", f"{DEFINITIONS}/toys.{group}")


def established(stage: ApiStage, group: str) -> bool:
    status = stage.api.ok("GET", f"{DEFINITIONS}/toys.{group}").get("status", {})
    return {"type": "Established", "status": "True"}.items() <= next(
        (one for one in status.get("conditions") or () if one["type"] == "Established"), {}
    ).items()
