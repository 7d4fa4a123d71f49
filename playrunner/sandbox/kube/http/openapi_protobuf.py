"""An OpenAPI v2 document as protobuf (gnostic's `openapi.v2`): the only form that older kubectl
reads.

Only the members that our documents have are written. Field numbers are those of gnostic's
OpenAPIv2.proto.
"""

from __future__ import annotations

import json
import struct
from typing import Any


def encoded(document: dict[str, Any]) -> bytes:
    """The whole document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(
        _message(2, _named(path, _path_item(item))) for path, item in document["paths"].items()
    )
    definitions = b"".join(
        _message(1, _named(name, _schema(one))) for name, one in document["definitions"].items()
    )
    return (
        _text(1, document["swagger"])
        + _message(2, info)
        + _message(8, paths)
        + _message(9, definitions)
    )


def _path_item(item: dict[str, Any]) -> bytes:
    patch = item["patch"]
    parameters = b"".join(
        _message(8, _message(1, _message(2, _message(3, _parameter(item_value)))))
        for item_value in patch["parameters"]
    )
    response = _message(1, _named("200", _message(1, _text(1, "OK"))))
    extensions = b"".join(
        _message(13, _named_any(name, value))
        for name, value in patch.items()
        if name.startswith("x-")
    )
    consumes = b"".join(_text(7, item_value) for item_value in patch["consumes"])
    return _message(
        8,
        _text(5, patch["operationId"]) + consumes + parameters + _message(9, response) + extensions,
    )


def _parameter(one: dict[str, Any]) -> bytes:
    return _text(2, one["in"]) + _text(4, one["name"]) + _text(6, one["type"])


def _schema(schema: dict[str, Any]) -> bytes:
    if "$ref" in schema:
        return _text(1, schema["$ref"])
    parts = [
        _text(number, schema[name])
        for name, number in _TEXTS.items()
        if isinstance(schema.get(name), str)
    ]
    parts += [_double(number, schema[name]) for name, number in _DOUBLES.items() if name in schema]
    parts += [
        _number(number, int(schema[name])) for name, number in _NUMBERS.items() if name in schema
    ]
    parts += [_text(19, name) for name in schema.get("required", ())]
    if isinstance(schema.get("additionalProperties"), dict):
        parts.append(_message(21, _message(1, _schema(schema["additionalProperties"]))))
    if schema.get("type"):
        parts.append(_message(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    if schema.get("properties"):
        parts.append(
            _message(
                25,
                b"".join(
                    _message(1, _named(name, _schema(inner)))
                    for name, inner in schema["properties"].items()
                ),
            )
        )
    parts += [
        _message(31, _named_any(name, value))
        for name, value in schema.items()
        if name.startswith("x-")
    ]
    return b"".join(parts)


_TEXTS = {"format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES = {"maximum": 7, "minimum": 9}
_NUMBERS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15}


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _message(2, value)


def _named_any(name: str, value: Any) -> bytes:
    return _text(1, name) + _message(2, _text(2, json.dumps(value)))


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
