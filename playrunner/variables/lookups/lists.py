"""Lookups that arrange their terms into a list: what `with_items`, `with_dict` and their relatives
go through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def items(terms: list[Any], _scope: object) -> list[Any]:
    """The terms, lists among them replaced by their members."""
    return [item for term in terms for item in (term if isinstance(term, list | tuple) else [term])]


def as_given(terms: list[Any], _scope: object) -> list[Any]:
    return terms


def dict_items(terms: list[Any], _scope: object) -> list[Any]:
    """A key and value for each entry of the mappings."""
    for term in terms:
        if not isinstance(term, Mapping):
            raise TypeError(f"the 'dict' lookup plugin expects a dictionary, not {term!r}")
    return [{"key": key, "value": value} for term in terms for key, value in term.items()]


def indexed_items(terms: list[Any], scope: object) -> list[Any]:
    return [[index, item] for index, item in enumerate(items(terms, scope))]


def together(terms: list[Any], scope: object) -> list[Any]:
    """The first members of all lists, then the second ones; shorter lists are filled with none."""
    from itertools import zip_longest

    if not terms:
        raise ValueError("with_together requires at least one element in each list")
    return [items(list(row), scope) for row in zip_longest(*terms)]


def nested(terms: list[Any], scope: object) -> list[Any]:
    """Every choice of one member from each list."""
    from itertools import product

    if not terms:
        raise ValueError("needs at least one list")
    return [items(list(row), scope) for row in product(*terms)]


def subelements(terms: list[Any], _scope: object) -> list[Any]:
    """Mappings paired with the members of a list inside each; the list itself is left out of the
    mapping."""
    if len(terms) not in (2, 3):
        raise ValueError("subelements lookup expects a list of two or three items")
    if not isinstance(terms[0], Mapping | list) or not isinstance(terms[1], str):
        raise ValueError(
            "subelements lookup expects a list of two or three items, first a dict or a list,"
            " second a string pointing to the subkey"
        )
    flags = terms[2] if len(terms) == 3 else {}
    if not isinstance(flags, Mapping) or any(key != "skip_missing" for key in flags):
        raise ValueError(
            "the optional third item must be a dict with flags; the only one is skip_missing"
        )
    skip_missing = str(flags.get("skip_missing", False)).lower() in ("true", "yes", "on", "1")
    keys = str(terms[1]).split(".")
    rows: list[Any] = []
    if isinstance(terms[0], Mapping) and terms[0].get("skipped", False) is not False:
        return []  # the result of a skipped step
    for item in terms[0].values() if isinstance(terms[0], Mapping) else terms[0]:
        if isinstance(item, Mapping) and item.get("skipped", False) is not False:
            continue
        members = _inner(item, keys, skip_missing)
        if members is None:
            continue
        shown = {key: value for key, value in item.items() if key != keys[0] or len(keys) > 1}
        rows.extend([shown, member] for member in members)
    return rows


def _inner(item: Any, keys: list[str], skip_missing: bool) -> list[Any] | None:
    """The list that keys lead to; None where it is missing and that is fine."""
    members = item
    for key in keys:
        if not isinstance(members, Mapping):
            if skip_missing:
                return None
            raise ValueError(f"the key {key!r} should point to a dictionary, got {members!r}")
        if key not in members:
            if skip_missing:
                return None
            raise ValueError(
                f"could not find {key!r} key in iterated item {item!r}; skip_missing passes over"
                " such items"
            )
        members = members[key]
    if not isinstance(members, list):
        if skip_missing and members is None:
            return None
        raise ValueError(f"the key {keys[-1]!r} should point to a list, got {members!r}")
    return members


def random_choice(terms: list[Any], _scope: object) -> list[Any]:
    import random

    return [random.choice(terms)] if terms else []
