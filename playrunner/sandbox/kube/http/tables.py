"""Lists as tables, which is what `kubectl get` asks for; and objects less everything but their
metadata."""

from __future__ import annotations

from playrunner.sandbox.kube.http.table_columns import BUILT_IN, Columns, age, printer_column
from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.store.store import Object
from playrunner.sandbox.kube.wire.messages import Request


def wanted(request: Request) -> bool:
    return request.method == "GET" and "as=Table" in request.headers.get("Accept", "").split(",")[0]


def metadata_only(request: Request) -> bool:
    return "as=PartialObjectMetadata" in request.headers.get("Accept", "").split(",")[0]


def only_metadata(one: Object) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": one["metadata"],
    }


def table(kind: Kind, objects: list[Object], request: Request) -> Object:
    """A table of these objects, with each one's metadata (or all of it) beside its row."""
    columns = _columns(kind)
    definitions = [
        {
            "name": name,
            "type": form,
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, form, priority, _ in columns
    ]
    include = request.option("includeObject", "Metadata")
    rows = []
    for one in objects:
        row: Object = {"cells": [value(one) for _, _, _, value in columns]}
        if include != "None":
            row["object"] = one if include == "Object" else only_metadata(one)
        rows.append(row)
    metadata = {"resourceVersion": objects[0]["metadata"]["resourceVersion"]} if objects else {}
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _columns(kind: Kind) -> Columns:
    name: Columns = [("Name", "string", 0, lambda one: one["metadata"]["name"])]
    if kind.columns:
        return name + [printer_column(each) for each in kind.columns]
    own = BUILT_IN.get(kind.type_name, [])
    if kind.kind == "CustomResourceDefinition":
        return name + own
    always, wide = [each for each in own if not each[2]], [each for each in own if each[2]]
    return [*name, *always, ("Age", "string", 0, age), *wide]
