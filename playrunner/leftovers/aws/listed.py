"""How lists are read: the part of an answer that matters, or nothing."""

from __future__ import annotations

from typing import Any

from playrunner.aws.client import Aws


def listed(
    aws: Aws,
    service: str,
    operation: str,
    key: str,
    missing: tuple[str, ...] = (),
    **arguments: Any,
) -> list[Any]:
    """The list that a read is about; empty where the thing it asks about is not there."""
    return list((aws.read(service, operation, missing=missing, **arguments) or {}).get(key) or ())
