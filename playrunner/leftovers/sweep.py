"""Sweep: find and delete until another search finds nothing new, since some resources show only
when others are gone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from playrunner.leftovers.kept import held
from playrunner.leftovers.leftover import Leftover
from playrunner.leftovers.per_cloud import Client, find
from playrunner.leftovers.remove import Say, Sleep, remove

# Volumes and interfaces show after their machines, a log group may be written to again.
ROUNDS = 4


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

    remaining = search()
    for _ in range(ROUNDS):
        if all(leftover.stays for leftover in remaining):
            break
        stuck = {_key(leftover): leftover for leftover in remove(client, remaining, sleep, say)}
        remaining = [_explained(leftover, stuck.get(_key(leftover))) for leftover in search()]
        if all(_key(leftover) in stuck for leftover in remaining):
            break
    return remaining


def _explained(leftover: Leftover, stuck: Leftover | None) -> Leftover:
    """With the reason why it could not be deleted, where that was tried."""
    return leftover if stuck is None else replace(leftover, why=stuck.why, by_tag=stuck.by_tag)


def _key(leftover: Leftover) -> tuple[str, str, str]:
    return leftover.kind, leftover.within, leftover.id
