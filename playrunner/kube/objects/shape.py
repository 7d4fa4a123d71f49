"""The shape of a declaration: two objects of one shape have the same fields with values of the same
sorts.

What a server refuses mostly hangs on the shape: a field that is unknown, missing, or of the wrong
type, a word that is none of those allowed. So of many new objects of one shape one is tried
beforehand, for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_QUANTITY = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+|[numkMGTPE]i?|Ki)?")
_KEY = re.compile(r"[\w./-]+")
# Keys whose text is one of a few words: another word is another shape.
_WORDS = re.compile(
    r"type|kind|apiVersion|protocol|effect|operator|scope|mode|verbs|\w*(Policy|Type|Modes?|Class|Kind)"
)
_FREE = ("data", "stringData", "binaryData", "annotations")  # any key goes


def shape(body: Mapping[str, Any]) -> object:
    """Comparable, and the same for objects that are alike."""
    return tuple(
        sorted(
            (key, _sorts(value) if key in _FREE else _shape(value, key))
            for key, value in body.items()
        )
    )


def _shape(value: Any, key: str) -> object:
    if isinstance(value, dict):
        if key in _FREE:
            return _sorts(value)
        return tuple(
            sorted(
                ((str(name), _shape(inner, str(name))) for name, inner in value.items()), key=repr
            )
        )
    if isinstance(value, list):
        return "list", tuple(sorted({repr(_shape(inner, key)) for inner in value}))
    if isinstance(value, str):
        return value if _WORDS.fullmatch(key) else _sort(value)
    if isinstance(value, bool) or value is None:
        return repr(value)
    return (
        type(value).__name__,
        "negative" if value < 0 else "none" if value == 0 else "port" if value < 65536 else "large",
    )


def _sorts(value: Any) -> object:
    """Of a mapping with keys of anybody's choosing."""
    if not isinstance(value, dict):
        return type(value).__name__
    return tuple(
        sorted(
            {
                f"{bool(_KEY.fullmatch(str(key)))} {type(inner).__name__}"
                for key, inner in value.items()
            }
        )
    )


def _sort(text: str) -> str:
    if _QUANTITY.fullmatch(text):
        return "quantity"
    return (
        "label"
        if _LABEL.fullmatch(text)
        else "name"
        if _NAME.fullmatch(text)
        else "text"
        if text
        else "empty"
    )
