"""Bringing what was sent into the shape of its kind: unknown fields dropped, types checked,
defaults of a schema filled in."""

from __future__ import annotations

import base64
import copy
import re
from datetime import datetime
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.problems import Undecodable, shown
from playrunner.sandbox.kube.schema.quantities import canonical
from playrunner.sandbox.kube.schema.schema import Schema

_GO_NAMES = {"string": "string", "integer": "int32", "boolean": "bool", "number": "float64"}
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")


class Shaping:
    """One pass over an object: what is dropped on the way is remembered."""

    def __init__(self, kind_name: str) -> None:
        self.kind_name = kind_name
        self.unknown: list[str] = []

    def builtin(self, value: Any, schema: Schema, path: str = "") -> Any:
        """A built-in object as Go would read and write it: wrong types refused, nulls and empty
        lists forgotten."""
        if schema.get("x-kubernetes-any"):
            return value
        if "x-kubernetes-quantity" in schema:
            return self._quantity(value, path)
        if "x-kubernetes-int-or-string" in schema:
            return self._scalar(value, path, (int, str), "intstr.IntOrString")
        if schema["type"] == "object":
            return self._builtin_object(value, schema, path)
        if schema["type"] == "array":
            if not isinstance(value, list):
                raise self._mismatch(value, path, "[]")
            return [
                self.builtin(one, schemas.items(schema), f"{path}[{at}]")
                for at, one in enumerate(value)
            ]
        if schema.get("format") == "byte":
            self._require_base64(value, path)
        if schema.get("format") == "date-time":
            self._require_time(value)
        return self._scalar(value, path, _PYTHON_TYPES[schema["type"]], _GO_NAMES[schema["type"]])

    def _builtin_object(self, value: Any, schema: Schema, path: str) -> Any:
        if not isinstance(value, dict):
            raise self._mismatch(value, path, "map")
        shaped = {}
        for name, content in value.items():
            where = f"{path}.{name}" if path else name
            inner = schemas.field(schema, name)
            if inner is None:
                self.unknown.append(where)
            elif content is not None:
                result = self.builtin(content, inner, where)
                if (
                    result in ([], {})
                    and _left_out_when_empty(inner)
                    and name not in schema.get("required", ())
                ):
                    continue
                shaped[name] = result
        return shaped

    def custom(self, value: Any, schema: Schema, path: str = "") -> Any:
        """A custom object less what its schema does not know; types are left to its validation."""
        if isinstance(value, dict):
            if path and schema.get("x-kubernetes-embedded-resource"):
                schema = schemas.of_custom(schema)
            shaped = {}
            for name, content in value.items():
                where = f"{path}.{name}" if path else name
                inner = schemas.field(schema, name)
                if inner is None:
                    self.unknown.append(where)
                elif where == "metadata":
                    shaped[name] = self.builtin(content, inner, where)
                else:
                    shaped[name] = self.custom(content, inner, where)
            return shaped
        if isinstance(value, list):
            return [
                self.custom(content, schemas.items(schema), f"{path}[{at}]")
                for at, content in enumerate(value)
            ]
        return value

    def _quantity(self, value: Any, path: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._mismatch(value, path, "resource.Quantity")
        try:
            return canonical(value)
        except ValueError as error:
            raise Undecodable(str(error)) from error

    def _require_base64(self, value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise self._mismatch(value, path, "[]uint8")
        try:
            base64.b64decode(value, validate=True)
        except ValueError as error:
            raise Undecodable(f"illegal base64 data: {error}") from error

    def _require_time(self, value: Any) -> None:
        try:
            readable = bool(_RFC3339.fullmatch(value) and datetime.fromisoformat(value))
        except (ValueError, TypeError):
            readable = False
        if not readable:
            raise Undecodable(
                f'parsing time {shown(value)} as "2006-01-02T15:04:05Z07:00": cannot parse it'
            )

    def _scalar(self, value: Any, path: str, allowed: type | tuple[type, ...], go: str) -> Any:
        if not isinstance(value, allowed) or (isinstance(value, bool) and allowed is not bool):
            raise self._mismatch(value, path, go)
        return value

    def _mismatch(self, value: Any, path: str, go: str) -> Exception:
        json_type = {
            dict: "object",
            list: "array",
            str: "string",
            bool: "bool",
            type(None): "null",
        }.get(type(value), "number")
        return Undecodable(
            f"json: cannot unmarshal {json_type} into Go struct field {self.kind_name}.{path} of"
            f" type {go}",
            wrong_type=True,
        )


_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "number": (int, float),
}


def _left_out_when_empty(schema: Schema) -> bool:
    return "properties" not in schema and not schema.get("x-kubernetes-any")


def with_defaults(value: Any, schema: Schema) -> Any:
    """A custom object with the defaults of its schema."""
    if isinstance(value, dict):
        filled = dict(value)
        for name, inner in schema.get("properties", {}).items():
            if filled.get(name) is None and "default" in inner and not inner.get("nullable"):
                filled[name] = copy.deepcopy(inner["default"])
        return {
            name: with_defaults(one, schemas.field(schema, name) or {})
            for name, one in filled.items()
        }
    if isinstance(value, list):
        return [with_defaults(one, schemas.items(schema)) for one in value]
    return value
