"""Sets of fields, as managed fields spell them: a path is a tuple of `f:name`, `k:{"key":...}` and
`v:value`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.schema import Schema

Path = tuple[str, ...]
Fields = set[Path]
ABSENT: Any = object()


def fields_of(value: Any, schema: Schema) -> Fields:
    """Every field that a configuration mentions."""
    found: Fields = set()
    _collect(value, schema, (), found)
    return found


def _collect(value: Any, schema: Schema, path: Path, fields: Fields) -> None:
    members = list(members_of(value, schema))
    if not members:
        if path:
            fields.add(path)
        return
    for step, one, inner in members:
        if not (step.startswith("f:") and schemas.is_struct_field(schema, step[2:])):
            fields.add((*path, step))
        _collect(one, inner, (*path, step), fields)


def members_of(value: Any, schema: Schema) -> Iterator[tuple[str, Any, Schema]]:
    """The parts of a value that can be owned on their own; none when it is one piece."""
    if schemas.is_atomic(schema, value):
        return
    if isinstance(value, dict):
        for name, item in value.items():
            yield f"f:{name}", item, schemas.field(schema, name) or schemas.ANYTHING
    elif schema.get("x-kubernetes-list-type") == "set":
        for item in value:
            yield f"v:{json.dumps(item, separators=(',', ':'))}", item, schemas.items(schema)
    else:
        inner = schemas.items(schema)
        for item in value:
            yield item_step(item, schema), item, inner


def item_step(item: Any, schema: Schema) -> str:
    """How an item of a keyed list is called; a key with a default may be left out."""
    properties = schemas.items(schema).get("properties", {})
    keys = {}
    for key in sorted(schema["x-kubernetes-list-map-keys"]):
        default = "TCP" if key == "protocol" else properties.get(key, {}).get("default")
        value = item.get(key, default) if isinstance(item, dict) else default
        if value is not None:
            keys[key] = value
    return "k:" + json.dumps(keys, separators=(",", ":"))


def changed_fields(before: Any, after: Any, schema: Schema) -> tuple[Fields, Fields]:
    """What is new or different, and what is gone."""
    touched: Fields = set()
    removed: Fields = set()
    _compare(before, after, schema, (), touched, removed)
    return touched, removed


def _compare(
    before: Any, after: Any, schema: Schema, path: Path, touched: Fields, removed: Fields
) -> None:
    if after is ABSENT:
        removed |= {path + rest for rest in fields_of(before, schema)} | {path}
        return
    if before is ABSENT or type(before) is not type(after) or schemas.is_atomic(schema, after):
        if before is ABSENT or before != after:
            _collect_new(after, schema, path, touched)
        return
    old = {step: (one, inner) for step, one, inner in members_of(before, schema)}
    new = {step: (one, inner) for step, one, inner in members_of(after, schema)}
    for step in old.keys() | new.keys():
        was, inner = old.get(step, (ABSENT, None))
        now, fresh = new.get(step, (ABSENT, None))
        if was is not now:
            _compare(was, now, fresh or inner or {}, (*path, step), touched, removed)
            if was is ABSENT and step[0] in "kv":
                touched.add((*path, step))


def _collect_new(value: Any, schema: Schema, path: Path, fields: Fields) -> None:
    """What appears: a map is a field of its own, beside its members; a structure is only its
    members."""
    members = list(members_of(value, schema))
    if not members or "properties" not in schema:
        fields.add(path)
    for step, one, inner in members:
        if step[0] in "kv":
            fields.add((*path, step))
        _collect_new(one, inner, (*path, step), fields)


def with_parents(fields: Iterable[Path]) -> Fields:
    return {path[:length] for path in fields for length in range(1, len(path) + 1)}


def to_json(fields: Fields) -> dict[str, Any]:
    """As the `fieldsV1` of a managed fields entry."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        at = tree
        for step in path:
            at = at.setdefault(step, {})
        at["."] = {}
    return _trimmed(tree)


def _trimmed(tree: dict[str, Any]) -> dict[str, Any]:
    if set(tree) == {"."}:
        return {}
    return {step: _trimmed(inner) for step, inner in tree.items()}


def from_json(tree: dict[str, Any], path: Path = ()) -> Fields:
    if not tree:
        return {path} if path else set()
    fields: Fields = set()
    for step, inner in tree.items():
        if step == ".":
            fields.add(path)
        else:
            fields |= from_json(inner, (*path, step))
    return fields


def spelled(path: Path) -> str:
    """As in messages: `.spec.containers[name="a"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "v":
            text += f"[={rest}]"
        else:
            text += (
                "["
                + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items())
                + "]"
            )
    return text


def without(value: Any, path: Path, schema: Schema) -> Any:
    """The value less the field at the path, if it has it."""
    if isinstance(value, dict) and path[0].startswith("f:"):
        name = path[0][2:]
        if name not in value:
            return value
        if len(path) == 1:
            return {key: item for key, item in value.items() if key != name}
        inner = schemas.field(schema, name) or schemas.ANYTHING
        return {**value, name: without(value[name], path[1:], inner)}
    if isinstance(value, list) and not schemas.is_atomic(schema, value):
        kept = []
        for step, item, inner in members_of(value, schema):
            if step != path[0]:
                kept.append(item)
            elif len(path) > 1:
                kept.append(without(item, path[1:], inner))
        return kept
    return value
