"""The schemas of everything served, for clients that check before they send: `/openapi/v2` and
`/openapi/v3`."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.http.openapi_protobuf import encoded
from playrunner.sandbox.kube.schema.kinds import Kind, Kinds
from playrunner.sandbox.kube.schema.problems import no_such_path
from playrunner.sandbox.kube.schema.schema import Schema, definitions
from playrunner.sandbox.kube.wire.messages import Reply, Request

_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PATCHES = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]


def answer(kinds: Kinds, request: Request) -> Reply | None:
    """None when the path is not about schemas."""
    path = request.path.rstrip("/")
    if path == "/openapi/v2":
        document = _document(kinds.all(), "#/definitions/")
        if "proto-openapi" in request.headers.get("Accept", ""):
            return Reply(encoded(document), content_type=_PROTOBUF)
        return Reply(document)
    if path == "/openapi/v3":
        served = {(kind.group, kind.version): kind for kind in kinds.all()}
        paths = {
            _base(kind)[1:]: {"serverRelativeURL": f"/openapi/v3{_base(kind)}"}
            for kind in served.values()
        }
        return Reply({"paths": paths})
    if path.startswith("/openapi/v3/"):
        base = path.removeprefix("/openapi/v3")
        chosen = [kind for kind in kinds.all() if _base(kind) == base]
        if not chosen:
            raise no_such_path()
        document = _document(chosen, "#/components/schemas/")
        third = {"openapi": "3.0.0", "info": document["info"], "paths": document["paths"]}
        return Reply({**third, "components": {"schemas": document["definitions"]}})
    return None


def _base(kind: Kind) -> str:
    return f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"


def _document(kinds: list[Kind], prefix: str) -> dict[str, Any]:
    schemas: dict[str, Schema] = {}
    for name, schema in definitions().items():
        schemas[_full_name(name)] = _published(schema, prefix)
    for kind in kinds:
        name = (
            _full_name(kind.type_name)
            if kind.type_name
            else ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
        )
        if kind.custom:
            schemas[name] = _published(kind.schema, prefix)
        gvk = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        schemas[name] = {**schemas[name], "x-kubernetes-group-version-kind": [gvk]}
    paths = {
        _object_path(kind): _operations(kind, prefix.startswith("#/components"))
        for kind in kinds
        if "patch" in kind.verbs
    }
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.33.0"},
        "paths": paths,
        "definitions": schemas,
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
    namespaces = "namespaces/{namespace}/" if kind.namespaced else ""
    return f"{_base(kind)}/{namespaces}{kind.plural}/{{name}}"


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
