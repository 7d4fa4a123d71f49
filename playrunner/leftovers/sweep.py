"""Sweeping: find and remove until another search finds nothing new, since some things show only
when others are gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from playrunner.leftovers.leftover import Leftover
from playrunner.leftovers.per_cloud import Client, find
from playrunner.leftovers.remove import Say, Sleep, remove

ROUNDS = 4  # volumes and interfaces show after their machines, a log group may be written once more


def sweep(
    client: Client,
    owner_cluster: str | None,
    sleep: Sleep,
    say: Say,
    wanted: Callable[[Leftover], bool] = lambda leftover: True,
    known_as: Sequence[str] = (),
) -> list[Leftover]:
    """Remove what is wanted of all that is found; what a last search still finds of it comes back
    with the reason."""
    found = [one for one in find(client, owner_cluster, known_as) if wanted(one)]
    for _ in range(ROUNDS):
        if all(one.stays for one in found):
            break
        stuck = {_key(one): one.why for one in remove(client, found, sleep, say)}
        found = [
            replace(one, why=stuck.get(_key(one), one.why))
            for one in find(client, owner_cluster, known_as)
            if wanted(one)
        ]
        if all(_key(one) in stuck for one in found):
            break
    return found


def _key(leftover: Leftover) -> tuple[str, str, str]:
    return leftover.kind, leftover.within, leftover.id
