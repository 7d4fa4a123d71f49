"""What the status of a pod group says: its phase, its numbers, and why it is not placed, in
Volcano's words. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from playrunner.sandbox.kube.controllers.framework.pods import phase_of
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving
from playrunner.sandbox.kube.operators.objects import stamp

QUEUE_IS_FULL = "queue resource quota insufficient"
CLUSTER_IS_FULL = "resource in cluster is overused"


def not_ready(group: Object, pods: list[Object], unplaceable: int) -> str:
    """`unplaceable`: how many of its waiting pods no node takes."""
    least = int(group["spec"].get("minMember") or 0)
    waiting = [one for one in pods if _waits(one)]
    standing = Counter("Pending" if _waits(one) else phase_of(one) for one in pods)
    parts = [f"{count} {phase}" for phase, count in sorted(standing.items())] + [
        f"{least} minAvailable"
    ]
    why = f"pod group is not ready, {', '.join(parts)}"
    if waiting:
        able = len(waiting) - unplaceable
        each = [
            f"{count} {word}"
            for count, word in ((unplaceable, "Unschedulable"), (able, "Schedulable"))
            if count
        ]
        why += f"; Pending: {', '.join(each)}"
    return why


def unschedulable(group: Object, pods: list[Object], unplaceable: int) -> str:
    """The message of the group's condition."""
    least = int(group["spec"].get("minMember") or 0)
    placed = sum(1 for one in pods if not _waits(one))
    return (
        f"{max(least - placed, 0)}/{len(pods)} tasks in gang unschedulable:"
        f" {not_ready(group, pods, unplaceable)}"
    )


def status_of(
    group: Object, pods: list[Object], phase: str, why_not: str, session: str, now: datetime
) -> Object:
    """The whole status; unchanged where nothing is new."""
    before = group.get("status") or {}
    present = [pod for pod in pods if not is_leaving(pod)]
    counts = Counter(phase_of(pod) for pod in present if not _waits(pod))
    numbers = {
        name.lower(): counts[name] for name in ("Running", "Succeeded", "Failed") if counts[name]
    }
    kind, reason, message = (
        ("Unschedulable", "NotEnoughResources", why_not)
        if why_not
        else ("Scheduled", "tasks in gang are ready to be scheduled", "")
    )
    conditions: list[Object] = list(before.get("conditions") or ())
    known = next((condition for condition in conditions if condition["type"] == kind), None)
    says_so = (
        known is not None and known["status"] == "True" and known.get("message", "") == message
    )
    is_last = bool(conditions) and conditions[-1]["type"] == kind
    if (phase == "Running" or why_not) and not (says_so and is_last):
        new_condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "lastTransitionTime": stamp(now),
            "transitionID": session,
        }
        new_condition |= {"message": message} if message else {}
        conditions = [
            *(condition for condition in conditions if condition["type"] != kind),
            new_condition,
        ]
    return {"phase": phase, **numbers, **({"conditions": conditions} if conditions else {})}


def phase_after(group: Object, pods: list[Object], admitted: bool) -> str:
    """Once its pods run, or ran; a group that was let in stays so until then."""
    least = int(group["spec"].get("minMember") or 0)
    present = [one for one in pods if not is_leaving(one)]
    phases = Counter(phase_of(one) for one in present)
    placed = sum(1 for one in present if not _waits(one))
    if (
        present
        and phases["Succeeded"] + phases["Failed"] == len(present)
        and phases["Succeeded"] >= least
    ):
        return "Completed"
    if placed and placed >= least:
        return "Running"
    before = str((group.get("status") or {}).get("phase") or "Pending")
    if before in ("Running", "Unknown"):
        return "Unknown" if placed else "Inqueue"
    return "Inqueue" if admitted or before == "Inqueue" else "Pending"


def _waits(pod: Object) -> bool:
    return not pod["spec"].get("nodeName")
