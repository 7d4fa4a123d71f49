"""Teardown: delete what the roles made, then look for what is left by its mark and its network, and
say what stays.

Deleting by role goes the ways things were made, backwards. The sweep after it needs neither
playbook nor inventory to be what they were: it finds what services made on our behalf, what an
earlier version of a role made, and what a killed run left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from playrunner import leftovers
from playrunner.aws.client import Aws
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable, StepFailed
from playrunner.gcp.client import Gcp
from playrunner.leftovers import Leftover
from playrunner.leftovers.per_cloud import Client
from playrunner.lifecycle.clouds_of_inventory import chosen, cloud_roles, clouds_of
from playrunner.lifecycle.status_and_delete import Ended, agreed, delete_roles, look
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.run.run_state import Shared
from playrunner.run.survey import Piece, Survey
from playrunner.variables.scope import Scope

LEFTOVERS = 7  # the exit code when something is left


def tear_down(options: Options, with_kept: bool) -> int:
    """Everything of this inventory's cluster; 0 only when nothing is left."""

    def then(shared: Shared, ended: Ended) -> int:
        cluster = shared.clouds.owner(Scope(shared.world, "localhost")).cluster
        spoken_of = _values([*ended.kept, *ended.planned])
        full = _values([gone.piece for gone in ended.gone if gone.holds_data])
        left: list[Leftover] = []
        for client in _clients(shared):
            left += sweep(
                client, cluster, lambda one: not _ids(one) & (spoken_of | full), options, shared
            )
            left += (
                [one for one in leftovers.find(client, cluster) if _ids(one) & full] if full else []
            )
        return _told(left, ended, options)

    return delete_roles(
        cloud_roles(Path.cwd() / "roles", chosen(options)), options, "teardown", with_kept, then
    )


def tear_down_expired(options: Options) -> int:
    """Every stack of the account whose time is over, whether or not there is an inventory for it."""

    def then(shared: Shared) -> int:
        left = [
            one for client in _clients(shared) for one in _sweep_expired(client, options, shared)
        ]
        return _told(left, Ended((), ()), options)

    return look((), options, "teardown --expired", Survey(), then)


def _sweep_expired(client: Client, options: Options, shared: Shared) -> list[Leftover]:
    over = leftovers.expired(leftovers.find(client, None), time.time())
    # In a stack that has expired, what was made without a time of its own stays: somebody may have
    # added it on purpose.
    marks = {(one.kind, one.within, one.id) for one in over}
    return [
        one
        for cluster in sorted({one.cluster for one in over})
        for one in sweep(
            client, cluster, lambda one: (one.kind, one.within, one.id) in marks, options, shared
        )
    ]


def _clients(shared: Shared) -> list[Client]:
    """Where the inventory's things are: one client for each cloud that it is about."""
    scope = Scope(shared.world, "localhost")
    made: dict[str, Callable[[], Client]] = {
        "aws": lambda: Aws(shared.clouds.aws(scope), "sweep", shared.clouds.intents),
        "gcp": lambda: Gcp(shared.clouds.gcp(scope), "sweep", shared.clouds.intents),
    }
    return [made[name]() for name in clouds_of(scope)]


def sweep(
    client: Client,
    cluster: str | None,
    wanted: Callable[[Leftover], bool],
    options: Options,
    shared: Shared,
) -> list[Leftover]:
    """What is left after removing what may be removed; under --check nothing is removed."""
    say = (lambda text: None) if options.json else _say
    try:
        found = [one for one in leftovers.find(client, cluster) if wanted(one)]
        if options.check or not found:
            return found
        if not options.json:
            print(leftovers.as_table(found, time.time()))
        if not options.yes and not agreed(shared, len(found)):
            return found
        return leftovers.sweep(client, cluster, time.sleep, say, wanted)
    except Unanswered as error:
        raise HostUnreachable(str(error)) from None
    except Refused as refusal:
        raise StepFailed(str(refusal)) from None


def _told(left: Sequence[Leftover], ended: Ended, options: Options) -> int:
    code = LEFTOVERS if left and not options.check else 0
    if options.json:
        print_json(
            {**ended.summary(), "left": leftovers.as_data(left, time.time()), "exit_code": code}
        )
    elif left:
        print("besides, found by mark or network:" if options.check else "still there:")
        print(leftovers.as_table(left, time.time()))
    elif not options.check:
        print(f"nothing is left{' but what is kept' if ended.kept else ''}")
    return code


def _values(pieces: Sequence[Piece]) -> set[str]:
    """Everything by which these things may be known."""
    return {
        value
        for piece in pieces
        for value in (piece.found or {}).values()
        if isinstance(value, str)
    }


def _ids(leftover: Leftover) -> set[str]:
    return {leftover.id, leftover.id.rpartition("/")[2]}


def _say(text: str) -> None:
    print(text, flush=True)
