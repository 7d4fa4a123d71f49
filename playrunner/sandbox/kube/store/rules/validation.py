"""Whether a custom object fits its structural schema; problems have the real server's
words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.problems import (
    Problem,
    duplicate,
    invalid_value,
    required,
    unsupported,
)
from playrunner.sandbox.kube.schema.schema import Schema

_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def problems_of(value: Any, schema: Schema, path: str = "") -> list[Problem]:
    """What is wrong with it, in the order of its fields."""
    return list(_problems(value, schema, path))


def _problems(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if path == "metadata" or schema.get("x-kubernetes-any"):
        return
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield _wrong_type(value, schema, path)
        return
    if not _type_fits(value, schema):
        yield _wrong_type(value, schema, path)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield unsupported(path, value, schema["enum"])
    if isinstance(value, dict):
        yield from _object_problems(value, schema, path)
    elif isinstance(value, list):
        yield from _list_problems(value, schema, path)
    elif isinstance(value, str):
        yield from _string_problems(value, schema, path)
    elif not isinstance(value, bool):
        yield from _number_problems(value, schema, path)
    yield from _combination_problems(value, schema, path)


def _type_fits(value: Any, schema: Schema) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = schema.get("type")
    if not wanted:
        return True
    name = _NAMES[type(value)]
    return (
        name == wanted
        or (wanted == "number" and name == "integer")
        or (wanted == "integer" and name == "number" and value == int(value))
    )


def _wrong_type(value: Any, schema: Schema, path: str) -> Problem:
    wanted = (
        "integer,string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    )
    problem = invalid_value(
        path,
        _NAMES[type(value)],
        f'{path} in body must be of type {wanted}: "{_NAMES[type(value)]}"',
    )
    return Problem(path, "FieldValueTypeInvalid", problem.message)


def _object_problems(value: dict[str, Any], schema: Schema, path: str) -> Iterator[Problem]:
    for name in schema.get("required", ()):
        if name not in value:
            yield required(f"{path}.{name}" if path else name)
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield Problem(
            path,
            "FieldValueTooMany",
            f"Too many: {len(value)}: must have at most {schema['maxProperties']} items",
        )
    if "minProperties" in schema and len(value) < schema["minProperties"]:
        yield invalid_value(
            path,
            len(value),
            f"{path} in body should have at least {schema['minProperties']} properties",
        )
    for name, one in value.items():
        inner = schemas.field(schema, name)
        if inner is not None:
            yield from _problems(one, inner, f"{path}.{name}" if path else name)


def _list_problems(value: list[Any], schema: Schema, path: str) -> Iterator[Problem]:
    if len(value) < schema.get("minItems", 0):
        yield invalid_value(
            path, len(value), f"{path} in body should have at least {schema['minItems']} items"
        )
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield Problem(
            path,
            "FieldValueTooMany",
            f"Too many: {len(value)}: must have at most {schema['maxItems']} items",
        )
    seen: list[Any] = []
    keys = schema.get("x-kubernetes-list-map-keys")
    for at, item in enumerate(value):
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        if (keys or schema.get("x-kubernetes-list-type") == "set") and identity in seen:
            yield duplicate(f"{path}[{at}]", identity)
        seen.append(identity)
        yield from _problems(item, schemas.items(schema), f"{path}[{at}]")


def _string_problems(value: str, schema: Schema, path: str) -> Iterator[Problem]:
    if len(value) < schema.get("minLength", 0):
        yield invalid_value(
            path, value, f"{path} in body should be at least {schema['minLength']} chars long"
        )
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield Problem(
            path, "FieldValueTooLong", f"Too long: may not be more than {schema['maxLength']} bytes"
        )
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield invalid_value(path, value, f"{path} in body should match '{schema['pattern']}'")
    if schema.get("format") == "date-time" and not re.match(
        r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d", value
    ):
        yield invalid_value(path, value, f'{path} in body must be of type date-time: "{value}"')


def _number_problems(value: float, schema: Schema, path: str) -> Iterator[Problem]:
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if minimum is not None and (
        value <= minimum if schema.get("exclusiveMinimum") else value < minimum
    ):
        sign = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {sign} {minimum}")
    if maximum is not None and (
        value >= maximum if schema.get("exclusiveMaximum") else value > maximum
    ):
        sign = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield invalid_value(path, value, f"{path} in body should be {sign} {maximum}")
    if "multipleOf" in schema and value % schema["multipleOf"]:
        yield invalid_value(
            path, value, f"{path} in body should be a multiple of {schema['multipleOf']}"
        )


def _combination_problems(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    for each in schema.get("allOf", ()):
        yield from _problems(value, each, path)
    if "anyOf" in schema and all(problems_of(value, each, path) for each in schema["anyOf"]):
        yield invalid_value(
            path, value, f"{path} in body must validate at least one schema (anyOf)"
        )
    if (
        "oneOf" in schema
        and sum(not problems_of(value, each, path) for each in schema["oneOf"]) != 1
    ):
        yield invalid_value(
            path, value, f"{path} in body must validate one and only one schema (oneOf)"
        )
    if "not" in schema and not problems_of(value, schema["not"], path):
        yield invalid_value(path, value, f"{path} in body must not validate the schema (not)")
