"""Moves of Volcano's job controller, from a job and its pods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from playrunner.sandbox.kube.operators.volcano import policies
from playrunner.sandbox.kube.operators.volcano.progress import Move, next_move
from playrunner.sandbox.kube.operators.volcano.spec import read
from tests.support.kube.operator_jobs import Object, pod_now

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def moved(
    job: Object,
    there: Sequence[Object] = (),
    *,
    lost: Sequence[Object] = (),
    command: str = "",
    admitted: bool = True,
    now: datetime = NOW,
) -> Move:
    requested = policies.requested_action(read(job), list(there), lost)
    return next_move(read(job), list(there), admitted, requested, command, now)


def after(job: Object, move: Move) -> Object:
    """The job with the status that the move gives it."""
    return {**job, "status": move.status}


def in_phases(job: Object, *phases: str, code: int | None = None) -> list[Object]:
    made = moved(job).create
    return [pod_now(pod, phase, exit_code=code if phase == "Failed" else None)
            for pod, phase in zip(made, phases, strict=False)]  # fmt: skip


def running(job: Object) -> Object:
    """The job once it runs."""
    return after(job, moved(job, in_phases(job, *["Running"] * 4)))


def phase(move: Move) -> str:
    return str(move.status["state"]["phase"])
