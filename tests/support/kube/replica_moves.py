"""Moves of the training operator, from a job and its pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from playrunner.sandbox.kube.operators import kubeflow
from playrunner.sandbox.kube.operators.replicated.progress import JobObjects, Move, next_move
from playrunner.sandbox.kube.operators.replicated.spec import Dialect
from tests.support.kube.operator_jobs import Object, pod_now

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def moved(
    job: Object,
    pods: Sequence[Object] = (),
    dialect: Dialect = kubeflow.DIALECT,
    now: datetime = NOW,
    **seen: Any,
) -> Move:
    return next_move(
        dialect, dialect.read(job), JobObjects(list(pods), seen.pop("services", []), **seen), now
    )


def made(move: Move, kind: str = "Pod") -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in move.create if one["kind"] == kind}


def states(move: Move) -> list[tuple[str, str]]:
    return [(one["type"], one["status"]) for one in move.status["conditions"]]


def pods_of(
    job: Object, *phases: str, dialect: Dialect = kubeflow.DIALECT, code: int | None = None
) -> list[Object]:
    """The job's pods in these phases; `code`: how the first one ended."""
    pods = made(moved(job, dialect=dialect)).values()
    codes = (code, *[None] * len(phases))
    return [
        pod_now(pod, phase, exit_code=how)
        for pod, phase, how in zip(pods, phases, codes, strict=False)
    ]
