"""The conditions of a job, newest last: the type of the last one is what people read as its
state."""

from __future__ import annotations

from datetime import datetime

from playrunner.sandbox.kube.controllers.framework.resources import Object
from playrunner.sandbox.kube.operators.objects import stamp

Conditions = list[Object]
_ENDS = ("Succeeded", "Failed")
_EXCLUDE = {
    "Running": ("Restarting",),
    "Restarting": ("Running",),
}  # of two such, only the newer one is kept


def with_condition(
    conditions: Conditions, kind: str, reason: str, message: str, now: datetime, holds: bool = True
) -> Conditions:
    """With this condition as the newest; the same list where it holds already."""
    status = "True" if holds else "False"
    known = find(conditions, kind)
    if known is not None and (known["status"], known.get("reason")) == (status, reason):
        return conditions
    since = (
        known["lastTransitionTime"]
        if known is not None and known["status"] == status
        else stamp(now)
    )
    newest = {
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastUpdateTime": stamp(now), "lastTransitionTime": since,
    }  # fmt: skip
    kept = [
        condition
        for condition in conditions
        if condition["type"] != kind and condition["type"] not in _EXCLUDE.get(kind, ())
    ]
    if kind in (*_ENDS, "Suspended") and holds:
        kept = [
            _no_longer(condition, now) if condition["type"] == "Running" else condition
            for condition in kept
        ]
    return [*kept, newest]


def find(conditions: Conditions, kind: str) -> Object | None:
    return next((one for one in conditions if one["type"] == kind), None)


def holds(conditions: Conditions, kind: str) -> bool:
    known = find(conditions, kind)
    return known is not None and known["status"] == "True"


def ended(conditions: Conditions) -> bool:
    return any(holds(conditions, kind) for kind in _ENDS)


def _no_longer(one: Object, now: datetime) -> Object:
    if one["status"] == "False":
        return one
    return {
        **one,
        "status": "False",
        "lastUpdateTime": stamp(now),
        "lastTransitionTime": stamp(now),
    }
