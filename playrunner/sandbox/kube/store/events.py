"""Events are kept once and served twice: as v1, and as events.k8s.io/v1 with other names for the
same things."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.schema.schema import Schema, definitions

_NEW = "events.k8s.io/v1"
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
}
_OLD = {
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedSource": "source",
}


def stored(kind: Kind, body: Any) -> Any:
    """As it is kept."""
    if (
        not isinstance(body, dict)
        or body.get("apiVersion") != _NEW
        or kind.stored_as != ("", "events")
    ):
        return body
    names = _NAMES | _OLD
    return {names.get(name, name): value for name, value in body.items()} | {"apiVersion": "v1"}


def served(kind: Kind, event: dict[str, Any]) -> dict[str, Any]:
    """As this kind's version shows it."""
    if kind.api_version == _NEW:
        names = {old: new for new, old in (_NAMES | _OLD).items()}
        return {names.get(name, name): value for name, value in event.items()} | {
            "apiVersion": _NEW
        }
    if event.get("apiVersion") != kind.api_version:
        return {**event, "apiVersion": kind.api_version}
    return event


def schema(kind: Kind) -> Schema:
    return definitions()["core.v1.Event"] if kind.stored_as == ("", "events") else kind.schema


def other_version(kind: Kind) -> str:
    return "v1" if kind.api_version == _NEW else ""
