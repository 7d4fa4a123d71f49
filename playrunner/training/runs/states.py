"""A run's states in one word each, and the exit codes that tell them."""

from __future__ import annotations

from collections.abc import Iterable

FAILED, NOT_FINISHED, NOT_FOUND, CANCELLED = 100, 101, 102, 103
ENDED = ("finished", "failed", "stopped", "lost")
_WORST_FIRST = ("failed", "lost", "stopped", "stopping", "running", "pending", "unknown")


def overall(states: Iterable[str]) -> str:
    """One word for all nodes: finished only when all of them are."""
    known = set(states)
    return next(
        (state for state in _WORST_FIRST if state in known), "finished" if known else "unknown"
    )


def exit_code(state: str) -> int:
    return {
        "finished": 0,
        "stopped": CANCELLED,
        "running": NOT_FINISHED,
        "pending": NOT_FINISHED,
        "stopping": NOT_FINISHED,
    }.get(state, FAILED)
