"""Filters that treat lists as sets; members keep the order they were first seen in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, pass_environment

from playrunner.errors import StepFailed


@pass_environment
def unique(
    environment: Environment, values: Any, case_sensitive: bool | None = None, attribute: Any = None
) -> list[Any]:
    """Each member once. Texts that differ in case only count as one unless `case_sensitive`."""

    def key(value: Any) -> Any:
        for part in str(attribute).split(".") if attribute is not None else ():
            value = environment.getitem(value, int(part) if part.isdigit() else part)
        return value.lower() if isinstance(value, str) and not case_sensitive else value

    members = list(values)
    if case_sensitive is False or attribute:  # Jinja's own filter, which compares by hash
        try:
            {key(member) for member in members}
        except TypeError as error:
            raise StepFailed(
                f"unique with case_sensitive or attribute cannot fall back: {error}"
            ) from None
    return _distinct(members, key)


def union(first: Any, second: Any) -> list[Any]:
    return _distinct([*first, *second])


def intersect(first: Any, second: Any) -> list[Any]:
    inside = _membership(second)
    return _distinct([value for value in first if inside(value)])


def difference(first: Any, second: Any) -> list[Any]:
    inside = _membership(second)
    return _distinct([value for value in first if not inside(value)])


def symmetric_difference(first: Any, second: Any) -> list[Any]:
    return [*difference(first, second), *difference(second, first)]


FILTERS: dict[str, Callable[..., Any]] = {
    "unique": unique,
    "union": union,
    "intersect": intersect,
    "difference": difference,
    "symmetric_difference": symmetric_difference,
}


def _distinct(values: Any, key: Callable[[Any], Any] = lambda value: value) -> list[Any]:
    seen: set[Any] = set()
    seen_unhashable: list[Any] = []
    distinct = []
    for value in values:
        mark = key(value)
        try:
            if mark in seen:
                continue
            seen.add(mark)
        except TypeError:
            if mark in seen_unhashable:
                continue
            seen_unhashable.append(mark)
        distinct.append(value)
    return distinct


def _membership(values: Any) -> Callable[[Any], bool]:
    """A quick `in`; lists and mappings are compared one by one, since they cannot be hashed."""
    members = list(values)
    try:
        quick = set(members)
    except TypeError:
        return members.__contains__

    def inside(value: Any) -> bool:
        try:
            return value in quick
        except TypeError:
            return False

    return inside
