"""The shapes of objects: built-in types read from `types/*.types`, custom ones from their
definitions, in one dialect.

A schema is an OpenAPI dictionary; `{"$ref": "core.v1.Container"}` points at a built-in type. A line
of a `.types` file reads

    name[!] TYPE [by KEYS] [merge KEY] [set] [atomic] [retainKeys]

`!`: required; `[T]` a list, `{T}` a map; `by`: items known by these fields; `merge`: the key of
strategic merge patches.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_FOLDER = Path(__file__).parent / "types"
_SCALARS: dict[str, Schema] = {
    "str": {"type": "string"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "int": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "num": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "quantity": {"x-kubernetes-quantity": True},
    "int-or-str": {"x-kubernetes-int-or-string": True},
    "any": {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-any": True},
}
ANYTHING: Schema = _SCALARS["any"]


@cache
def definitions() -> dict[str, Schema]:
    """Every built-in type by its short name, as `core.v1.Pod`."""
    schemas: dict[str, Schema] = {}
    for file in sorted(_FOLDER.glob("*.types")):
        package = file.name.removesuffix(".types")
        current: Schema = {}
        for line in file.read_text().splitlines():
            if line.startswith(" "):
                _add_field(current, line.split(), package)
            else:
                current = schemas[f"{package}.{line}"] = {
                    "type": "object",
                    "properties": {},
                    "required": [],
                }
    return schemas


def resolved(schema: Schema) -> Schema:
    """The schema itself, its reference followed; keys beside the reference are kept."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return _joined(reference, schema.get("x-kubernetes-map-type"))


@cache
def _joined(reference: str, map_type: str | None) -> Schema:
    target = definitions()[reference]
    return {**target, "x-kubernetes-map-type": map_type} if map_type else target


def field(schema: Schema, name: str) -> Schema | None:
    """The schema of one member of an object; None when it has no such field."""
    known = schema.get("properties", {}).get(name)
    if known is not None:
        return resolved(known)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        return resolved(extra)
    if extra is True or schema.get("x-kubernetes-preserve-unknown-fields") or not schema:
        return ANYTHING
    return None


def items(schema: Schema) -> Schema:
    return resolved(schema["items"]) if isinstance(schema.get("items"), dict) else ANYTHING


def is_struct_field(schema: Schema, name: str) -> bool:
    return name in schema.get("properties", {})


def is_atomic(schema: Schema, value: Any) -> bool:
    """Whether server-side apply treats this value as one piece."""
    if isinstance(value, dict):
        return schema.get("x-kubernetes-map-type") == "atomic"
    if isinstance(value, list):
        return schema.get("x-kubernetes-list-type") not in ("map", "set")
    return True


def of_custom(declared: Schema) -> Schema:
    """A custom resource's schema, with the members that every object has."""
    standard = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "meta.v1.ObjectMeta"},
    }
    return {
        **declared,
        "type": "object",
        "properties": {**declared.get("properties", {}), **standard},
    }


def _add_field(owner: Schema, words: list[str], package: str) -> None:
    name = words[0].removesuffix("!")
    if words[0].endswith("!"):
        owner["required"].append(name)
    owner["properties"][name] = _type(words[1], package) | _extensions(words[2:])


def _type(text: str, package: str) -> Schema:
    if text in _SCALARS:
        return dict(_SCALARS[text])
    if text.startswith("["):
        return {"type": "array", "items": _type(text[1:-1], package)}
    if text.startswith("{"):
        return {"type": "object", "additionalProperties": _type(text[1:-1], package)}
    return {"$ref": text if "." in text else f"{package}.{text}"}


def _extensions(words: list[str]) -> Schema:
    extensions: Schema = {}
    ahead = iter(words)
    for word in ahead:
        if word == "by":
            keys = next(ahead).split(",")
            extensions |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
            extensions |= {
                "x-kubernetes-patch-merge-key": keys[0],
                "x-kubernetes-patch-strategy": "merge",
            }
        elif word == "merge":
            key = next(ahead)
            extensions |= {"x-kubernetes-patch-strategy": "merge"} | (
                {"x-kubernetes-patch-merge-key": key} if key != "." else {}
            )
        elif word == "set":
            extensions["x-kubernetes-list-type"] = "set"
        elif word == "atomic":
            extensions["x-kubernetes-map-type"] = "atomic"
        elif word == "retainKeys":
            extensions["x-kubernetes-patch-strategy"] = "merge,retainKeys"
    return extensions
