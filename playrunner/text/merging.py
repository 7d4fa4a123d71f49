"""Mappings of one name merged over their definitions: hash_behaviour=merge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def merged(weaker: Any, stronger: Any) -> Any:
    """Two values of one name: mappings key by key at every depth, anything else is replaced."""
    if not isinstance(weaker, dict) or not isinstance(stronger, dict):
        return stronger
    result = dict(weaker)
    for key, value in stronger.items():
        result[key] = merged(result[key], value) if key in result else value
    return result


def merged_all(strongest_first: Iterable[Any]) -> Any:
    """All definitions of one name as one value."""
    values: list[Any] = []
    for value in strongest_first:
        values.append(value)
        if not isinstance(value, dict):
            break
    result = values.pop()
    while values:
        result = merged(result, values.pop())
    return result
