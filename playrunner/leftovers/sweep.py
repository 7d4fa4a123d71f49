"""Sweep: find and delete until another search finds nothing new, since some resources show only
when others are gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from playrunner.leftovers.kept import held
from playrunner.leftovers.leftover import Leftover
from playrunner.leftovers.per_cloud import Client, find
from playrunner.leftovers.remove import Say, Sleep, remove

# Volumes and interfaces show after their machines, a log group may be written to again.
ROUNDS = 4
# How long a search may still show what was deleted, and the pause before the next one.
LATE_SECONDS, PAUSE_SECONDS = 60.0, 2.0


def sweep(
    client: Client,
    owner_cluster: str | None,
    sleep: Sleep,
    say: Say,
    selected: Callable[[Leftover], bool] = lambda leftover: True,
    known_as: Sequence[str] = (),
    with_kept: bool = False,
    also: Collection[str] = (),
) -> list[Leftover]:
    """Delete the selected ones of all leftovers; return those that a last search still finds, with
    the reason. What is kept, or holds something, goes only `with_kept`."""

    def search() -> list[Leftover]:
        found = held(find(client, owner_cluster, known_as), with_kept, also)
        return [leftover for leftover in found if selected(leftover)]

    remaining, rounds = search(), 0
    deleted: dict[tuple[str, str, str], float] = {}  # when each was deleted first
    while going := [leftover for leftover in remaining if not leftover.stays]:
        if not all(_is_late(leftover, deleted) for leftover in going):
            if rounds == ROUNDS:
                break
            rounds += 1
            stuck = _removed(client, remaining, sleep, say, deleted)
        else:
            # Deleted, and shown all the same: late, or made again meanwhile
            sleep(PAUSE_SECONDS)
            stuck = _removed(client, remaining, sleep, lambda text: None, deleted)
        remaining = [_explained(leftover, stuck.get(_key(leftover))) for leftover in search()]
        if all(_key(leftover) in stuck for leftover in remaining):
            break
    return remaining


def _removed(
    client: Client,
    leftovers: Sequence[Leftover],
    sleep: Sleep,
    say: Say,
    deleted: dict[tuple[str, str, str], float],
) -> dict[tuple[str, str, str], Leftover]:
    """Those that could not be deleted; the others are noted."""
    stuck = {_key(leftover): leftover for leftover in remove(client, leftovers, sleep, say)}
    for leftover in leftovers:
        if _key(leftover) not in stuck and not leftover.stays:
            deleted.setdefault(_key(leftover), time.monotonic())
    return stuck


def _is_late(leftover: Leftover, deleted: dict[tuple[str, str, str], float]) -> bool:
    at = deleted.get(_key(leftover))
    return at is not None and time.monotonic() - at < LATE_SECONDS


def _explained(leftover: Leftover, stuck: Leftover | None) -> Leftover:
    """With the reason why it could not be deleted, where that was tried."""
    return leftover if stuck is None else replace(leftover, why=stuck.why, by_tag=stuck.by_tag)


def _key(leftover: Leftover) -> tuple[str, str, str]:
    return leftover.kind, leftover.within, leftover.id
