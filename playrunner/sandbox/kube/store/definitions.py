"""Custom resource definitions: what is refused about them, and the kinds that they add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.names import is_label, is_subdomain
from playrunner.sandbox.kube.schema.problems import Problem, invalid_value, required
from playrunner.sandbox.kube.store.cluster import now
from playrunner.sandbox.kube.store.store import Object

OF = ("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def definition_problems(definition: Object) -> Iterator[Problem]:
    """What is wrong with a definition."""
    spec = definition["spec"]
    group, names = spec.get("group", ""), spec.get("names") or {}
    if not group:
        yield required("spec.group")
    elif not is_subdomain(group) or "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        yield (
            required("spec.scope")
            if not spec.get("scope")
            else invalid_value("spec.scope", spec["scope"], "Cluster or Namespaced")
        )
    for name in ("plural", "kind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
        elif not is_label(names[name].lower()):
            yield invalid_value(f"spec.names.{name}", names[name], "must be a DNS label")
    wanted = f"{names.get('plural')}.{group}"
    if definition["metadata"].get("name") != wanted:
        yield invalid_value(
            "metadata.name",
            definition["metadata"].get("name"),
            'must be spec.names.plural+"."+spec.group',
        )
    versions = spec.get("versions") or []
    if not versions:
        yield required("spec.versions")
    elif sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid_value(
            "spec.versions", versions, "must have exactly one version marked as storage version"
        )
    for at, version in enumerate(versions):
        yield from _version_problems(version, f"spec.versions[{at}]")


def _version_problems(version: Object, path: str) -> Iterator[Problem]:
    if not version.get("name"):
        yield required(f"{path}.name")
    path = f"{path}.schema.openAPIV3Schema"
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        yield required(path, "schemas are required")
    elif schema.get("type") != "object":
        yield invalid_value(f"{path}.type", schema.get("type", ""), "must be object at the root")
    else:
        yield from _untyped(schema, path)


def _untyped(schema: Any, path: str) -> Iterator[Problem]:
    """A structural schema says the type of everything."""
    if not isinstance(schema, dict):
        return
    if (
        not schema.get("type")
        and not schema.get("x-kubernetes-int-or-string")
        and not schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield required(f"{path}.type", "must not be empty for specified object fields")
    for name, inner in (schema.get("properties") or {}).items():
        yield from _untyped(inner, f"{path}.properties[{name}]")
    if schema.get("type") == "array" and not schema.get("items"):
        yield required(f"{path}.items", "must be specified")
    for name in ("items", "additionalProperties"):
        yield from _untyped(schema.get(name), f"{path}.{name}")


def kinds_of(definition: Object) -> tuple[Kind, ...]:
    """What a definition adds, one kind for each version that it serves."""
    spec, names = definition["spec"], definition["spec"]["names"]
    return tuple(
        _kind(spec, names, version) for version in spec["versions"] if version.get("served")
    )


def _kind(spec: Object, names: Object, version: Object) -> Kind:
    subresources = version.get("subresources") or {}
    declared = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    if spec.get("preserveUnknownFields"):
        declared = {**declared, "x-kubernetes-preserve-unknown-fields": True}
    return Kind(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        spec["scope"] == "Namespaced",
        schemas.of_custom(declared),
        names["singular"],
        tuple(names.get("shortNames", ())),
        tuple(names.get("categories", ())),
        tuple(name for name in ("status", "scale") if name in subresources),
        counts_generations=True,
        list_kind=names["listKind"],
        columns=tuple(version.get("additionalPrinterColumns", ())),
        scale=subresources.get("scale") or {},
    )


def established(definition: Object) -> Object:
    """The definition once it is served: its conditions, its stored versions and our finalizer."""
    conditions = {each["type"]: each for each in definition.get("status", {}).get("conditions", ())}
    for kind, reason, message in (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ):
        conditions.setdefault(
            kind,
            {
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": now(),
            },
        )
    stored = [each["name"] for each in definition["spec"]["versions"] if each.get("storage")]
    known = definition.get("status", {}).get("storedVersions", [])
    versions = [*known, *(each for each in stored if each not in known)]
    status = {
        "conditions": list(conditions.values()),
        "acceptedNames": definition["spec"]["names"],
        "storedVersions": versions,
    }
    finalizers = list(dict.fromkeys([*definition["metadata"].get("finalizers", ()), CLEANUP]))
    metadata = (
        definition["metadata"]
        if definition["metadata"].get("deletionTimestamp")
        else {**definition["metadata"], "finalizers": finalizers}
    )
    return {**definition, "metadata": metadata, "status": status}
