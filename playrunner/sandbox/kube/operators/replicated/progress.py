"""The next move of an operator for one job of numbered replicas, from what is there now: pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from playrunner.sandbox.kube.controllers.framework.pods import is_over, phase_of
from playrunner.sandbox.kube.controllers.framework.resources import Object, is_leaving
from playrunner.sandbox.kube.operators.objects import (
    exit_code_of,
    restarts_of,
    seconds_since,
    stamp,
)
from playrunner.sandbox.kube.operators.replicated.conditions import (
    Conditions,
    ended,
    holds,
    with_condition,
)
from playrunner.sandbox.kube.operators.replicated.pods import index_of, pod_of, service_of
from playrunner.sandbox.kube.operators.replicated.spec import Dialect, ReplicaJob, Replicas, Tally

# Ended by a signal or by the system; anything below is the program's own exit code
FIRST_RETRYABLE_CODE = 128


@dataclass(frozen=True)
class JobObjects:
    """What there is of a job."""

    pods: list[Object]
    services: list[Object]
    restarts: int = 0  # pods that this operator replaced, as long as it remembers
    group: str = ""  # the pod group that its pods are scheduled with
    # false: the group still waits for its turn, and pods would only wait with it
    admitted: bool = True


@dataclass(frozen=True)
class Move:
    """What to do about it, in this order; then look again after so many seconds."""

    delete: tuple[Object, ...] = ()
    create: tuple[Object, ...] = ()
    status: dict[str, Any] = field(default_factory=dict)
    replaced: int = 0
    remove_job: bool = False
    again_seconds: float | None = None


def next_move(dialect: Dialect, job: ReplicaJob, seen: JobObjects, now: datetime) -> Move:
    """What the operator does next; nothing but the same status when all is as it should be."""
    status = dict(job.object.get("status") or {})
    noun, name = dialect.noun, job.name
    conditions = with_condition(
        list(status.get("conditions") or ()),
        "Created",
        f"{noun}Created",
        f"{noun} {name} is created.",
        now,
    )
    if ended(conditions):
        return _after_the_end(job, seen, {**status, "conditions": conditions}, now)
    if job.policy.suspend:
        conditions = with_condition(
            conditions, "Suspended", f"{noun}Suspended", f"{noun} {name} is suspended.", now
        )
        return Move(
            delete=(*seen.pods, *seen.services),
            status=_status(dialect, job, status, conditions, {}),
        )
    if holds(conditions, "Suspended"):
        conditions = with_condition(
            conditions,
            "Suspended",
            f"{noun}Resumed",
            f"{noun} {name} is resumed.",
            now,
            holds=False,
        )
        status["startTime"] = stamp(now)
    status.setdefault("startTime", stamp(now))
    limit = _limit_passed(job, seen, status, now)
    if limit:
        conditions = with_condition(
            conditions, "Failed", f"{noun}Failed", f"{noun} {name} has failed because {limit}", now
        )
        status["completionTime"] = stamp(now)
        unfinished = [one for one in seen.pods if not is_over(one)]  # or they would run for ever
        return Move(delete=tuple(unfinished), status=_status(dialect, job, status, conditions, {}))
    return _working(dialect, job, seen, status, conditions, now)


def _working(
    dialect: Dialect,
    job: ReplicaJob,
    seen: JobObjects,
    status: Object,
    conditions: Conditions,
    now: datetime,
) -> Move:
    moves = {
        replicas.kind: _replicas_move(dialect, job, replicas, seen) for replicas in job.replicas
    }
    tallies = {kind: tally for kind, (_, tally) in moves.items()}
    noun, name = dialect.noun, job.name
    for kind, (move, tally) in moves.items():
        if move.replaced:
            why = f"{noun} {name} is restarting because {move.replaced} {kind} replica(s) failed."
            conditions = with_condition(conditions, "Restarting", f"{noun}Restarting", why, now)
        if tally.failed:
            why = f"{noun} {name} is failed because {tally.failed} {kind} replica(s) failed."
            conditions = with_condition(conditions, "Failed", f"{noun}Failed", why, now)
    leading = tallies.get("Master") or tallies.get("Worker")
    if not ended(conditions) and dialect.succeeded(job, tallies):
        conditions = with_condition(
            conditions,
            "Succeeded",
            f"{noun}Succeeded",
            f"{noun} {name} is successfully completed.",
            now,
        )
        tallies = {
            kind: replace(tally, active=0, succeeded=tally.succeeded + tally.active)
            for kind, tally in tallies.items()
        }
    elif (
        not ended(conditions)
        and leading is not None
        and leading.active
        and not any(move.replaced for move, _ in moves.values())
    ):
        conditions = with_condition(
            conditions, "Running", f"{noun}Running", f"{noun} {name} is running.", now
        )
    if ended(conditions):
        status["completionTime"] = stamp(now)
    deadline = job.policy.deadline_seconds
    return Move(
        delete=tuple(obj for move, _ in moves.values() for obj in move.delete),
        create=()
        if ended(conditions)
        else tuple(obj for move, _ in moves.values() for obj in move.create),
        status=_status(dialect, job, status, conditions, tallies),
        replaced=sum(move.replaced for move, _ in moves.values()),
        again_seconds=None
        if deadline is None
        else max(0.1, deadline - seconds_since(status["startTime"], now)),
    )


def _replicas_move(
    dialect: Dialect, job: ReplicaJob, replicas: Replicas, seen: JobObjects
) -> tuple[Move, Tally]:
    pods = {index: obj for obj in seen.pods if (index := index_of(obj, job, replicas)) is not None}
    services = {
        index: obj for obj in seen.services if (index := index_of(obj, job, replicas)) is not None
    }
    surplus = [
        obj for found in (pods, services) for index, obj in found.items() if index >= replicas.count
    ]
    present = [obj for index, obj in pods.items() if index < replicas.count and not is_leaving(obj)]
    replaceable = [
        obj
        for obj in present
        if phase_of(obj) == "Failed" and _is_retried(replicas, obj, dialect.container)
    ]
    create = [
        service_of(dialect, job, replicas, index)
        for index in range(replicas.count)
        if index not in services
    ]
    if seen.admitted:
        create += [
            pod_of(dialect, job, replicas, index, seen.group)
            for index in range(replicas.count)
            if index not in pods
        ]
    phases = [phase_of(obj) for obj in present if obj not in replaceable]
    tally = Tally(
        replicas.count, phases.count("Running"), phases.count("Succeeded"), phases.count("Failed")
    )
    return Move(
        delete=(*surplus, *replaceable), create=tuple(create), replaced=len(replaceable)
    ), tally


def _is_retried(replicas: Replicas, pod: Object, container: str) -> bool:
    if replicas.restart == "ExitCode":
        code = exit_code_of(pod, container)
        return code is None or code >= FIRST_RETRYABLE_CODE
    # The node restarts containers of such pods by itself: one that failed as a whole was evicted or
    # lost its node.
    return replicas.restart in ("OnFailure", "Always")


def _limit_passed(job: ReplicaJob, seen: JobObjects, status: Object, now: datetime) -> str:
    deadline, limit = job.policy.deadline_seconds, job.policy.backoff_limit
    if deadline is not None and seconds_since(status["startTime"], now) >= deadline:
        return "it was active longer than specified deadline"
    if limit is None:
        return ""
    in_place = 0
    for replicas in job.replicas:
        if replicas.restart in ("OnFailure", "Always"):
            in_place += sum(
                restarts_of(one) for one in seen.pods if index_of(one, job, replicas) is not None
            )
    if in_place >= max(limit, 1) or seen.restarts > limit:
        return "it has reached the specified backoff limit"
    return ""


def _after_the_end(job: ReplicaJob, seen: JobObjects, status: Object, now: datetime) -> Move:
    going: list[Object] = []
    if job.policy.clean == "All":
        going = [*seen.pods, *seen.services]
    elif job.policy.clean == "Running":
        going = [one for one in seen.pods if not is_over(one)]
        names = {one["metadata"]["name"] for one in going}
        going += [one for one in seen.services if one["metadata"]["name"] in names]
    ttl = job.policy.ttl_seconds
    if ttl is None:
        return Move(delete=tuple(going), status=status)
    left = ttl - seconds_since(status.get("completionTime") or stamp(now), now)
    return Move(
        delete=tuple(going), status=status, remove_job=left <= 0, again_seconds=max(0.1, left)
    )


def _status(
    dialect: Dialect,
    job: ReplicaJob,
    status: Object,
    conditions: Conditions,
    tallies: dict[str, Tally],
) -> Object:
    """`tallies` of none: nothing runs any more."""
    counted: dict[str, Any] = {}
    for replicas in job.replicas:
        tally = tallies.get(replicas.kind, Tally(replicas.count))
        labels = dialect.labels(job, replicas, 0)
        index_label = next((name for name in labels if name.endswith("replica-index")), "")
        selector = ",".join(
            f"{name}={value}" for name, value in sorted(labels.items()) if name != index_label
        )
        numbers = {"active": tally.active, "succeeded": tally.succeeded, "failed": tally.failed}
        counted[replicas.kind] = {
            **{name: number for name, number in numbers.items() if number},
            "selector": selector,
        }
    return {**status, "conditions": conditions, "replicaStatuses": counted}
