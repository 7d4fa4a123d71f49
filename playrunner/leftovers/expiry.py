"""Expiry: until when a stack is to live, from the tags on its resources."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from playrunner.leftovers.leftover import Leftover


def expired(leftovers: Iterable[Leftover], now: float) -> list[Leftover]:
    """What is past its time. A stack expires with the latest of its marks.

    What was made without an expiry stays, and so does then what is the stack's without a mark of
    its own: it may belong to what stays.
    """
    stacks: dict[str, list[Leftover]] = {}
    for leftover in leftovers:
        stacks.setdefault(leftover.cluster, []).append(leftover)
    over: list[Leftover] = []
    for things in stacks.values():
        end = stack_expiry(things)
        if end is not None and end <= now:
            lasting = any(thing.owned and _seconds(thing.expires) is None for thing in things)
            over += [
                thing for thing in things if not lasting or _seconds(thing.expires) is not None
            ]
    return over


def stack_expiry(things: Iterable[Leftover]) -> float | None:
    """When the last of a stack's things expires; None when none does."""
    return max(
        (end for thing in things if (end := _seconds(thing.expires)) is not None), default=None
    )


def _seconds(stamp: str) -> float | None:
    """A tag written by hand may be anything; what cannot be parsed is no expiry."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
