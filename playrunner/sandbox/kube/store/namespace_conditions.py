"""Why a namespace that is being deleted still exists, as its controller reports it."""

from __future__ import annotations

from typing import Any

from playrunner.sandbox.kube.schema.kinds import Kind
from playrunner.sandbox.kube.store.store import Object


def remaining_conditions(
    left: list[tuple[Kind, Object]], namespace: Object
) -> list[dict[str, Any]]:
    """Why a namespace does not go, in the words of its controller."""
    counts: dict[str, int] = {}
    finalizers: dict[str, int] = {}
    for kind, one in left:
        counts[kind.qualified] = counts.get(kind.qualified, 0) + 1
        for each in one["metadata"].get("finalizers") or ():
            finalizers[each] = finalizers.get(each, 0) + 1
    content = ", ".join(
        f"{name} has {count} resource instances" for name, count in sorted(counts.items())
    )
    conditions = [
        (
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            f"Some resources are remaining: {content}",
        )
    ]
    if finalizers:
        waiting = ", ".join(
            f"{name} in {count} resource instances" for name, count in sorted(finalizers.items())
        )
        conditions.append(
            (
                "NamespaceFinalizersRemaining",
                "SomeFinalizersRemain",
                f"Some content in the namespace has finalizers remaining: {waiting}",
            )
        )
    since = namespace["metadata"]["deletionTimestamp"]
    return [
        {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        }
        for kind, reason, message in conditions
    ]
