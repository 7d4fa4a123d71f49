"""The schemas of everything served, for clients that check before they send: `/openapi/v2` and
`/openapi/v3`."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.http.openapi_protobuf import encoded
from playrunner.sandbox.kube.schema.kinds import Kind, Kinds
from playrunner.sandbox.kube.schema.messages import Reply, Request
from playrunner.sandbox.kube.schema.problems import no_such_path
from playrunner.sandbox.kube.schema.schema import Schema, definitions

_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PATCHES = [
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]  # fmt: skip


def answer(kinds: Kinds, request: Request) -> Reply | None:
    """None when the path is not about schemas."""
    path = request.path.rstrip("/")
    if path == "/openapi/v2":
        document = _document(kinds.all(), "#/definitions/")
        if "proto-openapi" in request.headers.get("Accept", ""):
            return Reply(encoded(document), content_type=_PROTOBUF)
        return Reply(document)
    if path == "/openapi/v3":
        served = {(one.group, one.version): one for one in kinds.all()}
        paths = {
            _base(one)[1:]: {"serverRelativeURL": f"/openapi/v3{_base(one)}"}
            for one in served.values()
        }
        return Reply({"paths": paths})
    if path.startswith("/openapi/v3/"):
        base = path.removeprefix("/openapi/v3")
        chosen = [one for one in kinds.all() if _base(one) == base]
        if not chosen:
            raise no_such_path()
        document = _document(chosen, "#/components/schemas/")
        third = {"openapi": "3.0.0", "info": document["info"], "paths": document["paths"]}
        return Reply({**third, "components": {"schemas": document["definitions"]}})
    return None


def _base(kind: Kind) -> str:
    return f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"


def _document(kinds: list[Kind], prefix: str) -> dict[str, Any]:
    found: dict[str, Schema] = {}
    for name, schema in definitions().items():
        found[_full_name(name)] = _published(schema, prefix)
    for kind in kinds:
        name = (
            _full_name(kind.type_name)
            if kind.type_name
            else ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
        )
        if kind.custom:
            found[name] = _published(kind.schema, prefix)
        gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        found[name] = {**found[name], "x-kubernetes-group-version-kind": [gvk]}
    paths = {
        _object_path(kind): _operations(kind, prefix.startswith("#/components"))
        for kind in kinds
        if "patch" in kind.verbs
    }
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.33.0"},
        "paths": paths,
        "definitions": found,
    }


def _full_name(short: str) -> str:
    if short.startswith("meta."):
        return f"io.k8s.apimachinery.pkg.apis.{short}"
    return f"io.k8s.api.{short}"


def _published(schema: Any, prefix: str) -> Any:
    """As a document says it: references in full, our own marks as the scalars they are."""
    if isinstance(schema, list):
        return [_published(one, prefix) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and isinstance(schema["$ref"], str):
        return {**schema, "$ref": prefix + _full_name(schema["$ref"])}
    if "x-kubernetes-quantity" in schema:
        return {"type": "string", "format": "quantity"}
    if schema.get("x-kubernetes-any") or schema.get("x-kubernetes-preserve-unknown-fields") is True:
        return {"x-kubernetes-preserve-unknown-fields": True}  # without a type: anything goes
    if schema.get("x-kubernetes-int-or-string") is True:
        kept = {
            name: value
            for name, value in schema.items()
            if name not in ("anyOf", "oneOf", "allOf", "pattern", "x-kubernetes-int-or-string")
        }
        return {**kept, "type": "string", "format": "int-or-string"}
    published = {
        name: _members(value, prefix) if name == "properties" else _published(value, prefix)
        for name, value in schema.items()
    }
    if not published.get("required", True):
        del published["required"]
    return published


def _members(properties: dict[str, Schema], prefix: str) -> dict[str, Schema]:
    return {name: _published(value, prefix) for name, value in properties.items()}


def _object_path(kind: Kind) -> str:
    return f"{_base(kind)}/{'namespaces/{namespace}/' if kind.namespaced else ''}{kind.plural}/{{name}}"


def _operations(kind: Kind, third: bool) -> dict[str, Any]:
    """Enough for clients that look whether a dry run is possible."""
    gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    names = ("dryRun", "fieldManager", "fieldValidation", "force")
    form: dict[str, Any] = (
        {"schema": {"type": "string", "uniqueItems": True}}
        if third
        else {"type": "string", "uniqueItems": True}
    )
    parameters = [{"name": name, "in": "query", **form} for name in names]
    identity = {
        "operationId": f"patch{kind.version}{kind.kind}",
        "x-kubernetes-group-version-kind": gvk,
        "x-kubernetes-action": "patch",
    }
    patch: dict[str, Any] = {
        **identity,
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
    }
    if third:
        patch["requestBody"] = {"content": {each: {} for each in _PATCHES}}
    else:
        patch["consumes"] = _PATCHES
    return {"patch": patch}
