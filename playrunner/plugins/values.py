"""Values on their way into plugins and back: plain Python there, data here.

What comes back is plain text, whatever was given: a plugin may hand on what a host wrote, and such
text must never count as the author's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ATOMS = frozenset({int, float, bool, type(None), bytes})
MOST_LEVELS = 200


def as_given(value: Any) -> Any:
    """A value without our marks, which serializers of others do not know."""
    kind = type(value)
    if kind is str or kind in _ATOMS:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict) and not hasattr(kind, "__missing__"):
        return {as_given(key): as_given(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_given(inner) for inner in value]
    return value


def as_data(value: Any, level: int = 0) -> Any:
    """What a plugin returned, as plain text, numbers, lists and mappings."""
    kind = type(value)
    if kind is str or kind in _ATOMS:
        return value
    if level > MOST_LEVELS:
        raise ValueError("a value that contains itself")
    for plain in (bool, int, float):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, str):
        return str(str.__str__(value))
    if isinstance(value, Mapping):
        return {as_data(key): as_data(value[key], level + 1) for key in value}
    if isinstance(value, (list, tuple)):
        return [as_data(inner, level + 1) for inner in value]
    return value
