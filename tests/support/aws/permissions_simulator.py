"""A small policy simulator: whether policies allow an action on a resource, as IAM decides it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any


def allowed(
    documents: Iterable[Mapping[str, Any]],
    action: str,
    resource: str = "*",
    context: Mapping[str, str] | None = None,
) -> bool:
    """Without a context, conditions are taken to hold: what a call carries is not always known."""
    matching = [
        statement["Effect"]
        for document in documents
        for statement in document["Statement"]
        if _matches(statement, action, resource, context)
    ]
    return "Allow" in matching and "Deny" not in matching


def _matches(
    statement: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str] | None
) -> bool:
    return (
        any(fnmatch.fnmatchcase(action.lower(), one.lower()) for one in _all(statement["Action"]))
        and any(
            resource == "*" or fnmatch.fnmatchcase(resource, one)
            for one in _all(statement["Resource"])
        )
        and (context is None or _holds(statement.get("Condition") or {}, context))
    )


def _holds(condition: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    for operator, pairs in condition.items():
        for key, values in pairs.items():
            value = context.get(key)
            exact = operator in ("StringEquals", "ArnEquals")
            if value is None or not any(
                value == one if exact else fnmatch.fnmatchcase(value, one) for one in _all(values)
            ):
                return False
    return True


def _all(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
