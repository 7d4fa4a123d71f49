"""Teardown: delete what the roles created, then sweep for leftovers by tag and network.

Deletion by role goes in reverse order of creation. The sweep after it does not depend on the
playbook or inventory: it finds what services created on our behalf, what an earlier version of a
role created, and what a killed run left behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from playrunner import leftovers
from playrunner.aws.client import Aws
from playrunner.cloud.resource import Refused, Unanswered
from playrunner.errors import HostUnreachable, StepFailed
from playrunner.gcp.client import Gcp
from playrunner.leftovers import Leftover
from playrunner.leftovers.per_cloud import Client
from playrunner.lifecycle.clouds_of_inventory import chosen_clouds, cloud_roles, clouds_of
from playrunner.lifecycle.plan_tree import add_others
from playrunner.lifecycle.status_and_delete import (
    DeletionSummary,
    confirmed,
    delete_roles,
    survey_roles,
)
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.run.run_state import RunState
from playrunner.run.survey import FoundResource, Survey
from playrunner.variables.scope import Scope

LEFTOVERS = 7  # the exit code when something is left


def tear_down(options: Options, with_kept: bool, also: Collection[str] = ()) -> int:
    """Delete everything of this inventory's cluster; 0 only when nothing is left. Things of others
    in its network stop it before anything is deleted, unless `also` names them."""
    others: list[Leftover] = []

    def before(shared: RunState) -> int:
        cluster = shared.clouds.owner(Scope(shared.run_vars, "localhost")).cluster
        others.extend(_of_others(shared, cluster, also))
        return _stop_for_others(others, options)

    def then(shared: RunState, summary: DeletionSummary) -> int:
        cluster = shared.clouds.owner(Scope(shared.run_vars, "localhost")).cluster
        reported = _values([*summary.kept, *summary.planned])
        full = _values([deletion.resource for deletion in summary.deletions if deletion.holds_data])
        left: list[Leftover] = []
        for client in _clients(shared):
            left += sweep(
                client,
                cluster,
                lambda leftover: not _ids(leftover) & (reported | full),
                options,
                shared,
                with_kept,
                also,
            )
            left += (
                [
                    leftover
                    for leftover in leftovers.held(leftovers.find(client, cluster), with_kept)
                    if _ids(leftover) & full
                ]
                if full
                else []
            )
        add_others(summary.tree, others)
        return _print_leftovers(left, summary, options, others)

    roles = cloud_roles(chosen_clouds(options))
    return delete_roles(roles, options, "teardown", with_kept, then, before)


def _of_others(shared: RunState, cluster: str, also: Collection[str]) -> list[Leftover]:
    """What is in our network and was made by others, but for what was named."""
    try:
        candidates = [
            leftover for client in _clients(shared) for leftover in leftovers.find(client, cluster)
        ]
    except Unanswered as error:
        raise HostUnreachable(str(error)) from None
    except Refused as refusal:
        raise StepFailed(str(refusal)) from None
    return [leftover for leftover in leftovers.held(candidates, True, also) if leftover.others]


def _stop_for_others(others: Sequence[Leftover], options: Options) -> int:
    """Show what is of others; the exit code when it stops a teardown."""
    if not others:
        return 0
    if options.json and not options.check:
        listed = leftovers.as_data(others, time.time())
        print_json({"others": listed, "exit_code": LEFTOVERS})
    elif not options.json:
        print("of others, in our network:")
        print(leftovers.as_table(others, time.time()))
    if options.check:
        return 0
    names = ",".join(leftover.id for leftover in others)
    if not options.json:
        print(f"nothing was deleted; --also {names} deletes them with the rest")
    return LEFTOVERS


def tear_down_expired(options: Options, with_kept: bool = False) -> int:
    """Delete every expired stack of the account, with or without an inventory for it."""

    def then(shared: RunState) -> int:
        left = [
            leftover
            for client in _clients(shared)
            for leftover in _sweep_expired(client, options, shared, with_kept)
        ]
        return _print_leftovers(left, DeletionSummary((), ()), options)

    return survey_roles((), options, "teardown --expired", Survey(), then)


def _sweep_expired(
    client: Client, options: Options, shared: RunState, with_kept: bool
) -> list[Leftover]:
    over = leftovers.expired(leftovers.find(client, None), time.time())
    # In an expired stack, resources without their own expiry stay: a user may have added them.
    marks = {(leftover.kind, leftover.within, leftover.id) for leftover in over}
    return [
        leftover
        for cluster in sorted({leftover.cluster for leftover in over})
        for leftover in sweep(
            client,
            cluster,
            lambda leftover: (leftover.kind, leftover.within, leftover.id) in marks,
            options,
            shared,
            with_kept,
        )
    ]


def _clients(shared: RunState) -> list[Client]:
    """One client for each cloud of the inventory."""
    scope = Scope(shared.run_vars, "localhost")
    factories: dict[str, Callable[[], Client]] = {
        "aws": lambda: Aws(shared.clouds.aws(scope), "sweep", shared.clouds.call_log),
        "gcp": lambda: Gcp(shared.clouds.gcp(scope), "sweep", shared.clouds.call_log),
    }
    return [factories[name]() for name in clouds_of(scope)]


def sweep(
    client: Client,
    cluster: str | None,
    selects: Callable[[Leftover], bool],
    options: Options,
    shared: RunState,
    with_kept: bool = False,
    also: Collection[str] = (),
) -> list[Leftover]:
    """Delete the leftovers that may be deleted; returns those that remain. --check deletes none."""
    say = (lambda text: None) if options.json else _print_line
    try:
        found = leftovers.held(leftovers.find(client, cluster), with_kept, also)
        remaining = [leftover for leftover in found if selects(leftover)]
        removable = [leftover for leftover in remaining if not leftover.stays]
        if options.check or not removable:
            return remaining
        if not options.json:
            print(leftovers.as_table(removable, time.time()))
        if not options.yes and not confirmed(shared, len(removable)):
            return remaining
        if isinstance(client, Aws) and cluster:
            shared.clouds.claim(Scope(shared.run_vars, "localhost"), cluster, time.sleep)
        return leftovers.sweep(
            client, cluster, time.sleep, say, selects, with_kept=with_kept, also=also
        )
    except Unanswered as error:
        raise HostUnreachable(str(error)) from None
    except Refused as refusal:
        raise StepFailed(str(refusal)) from None


def _print_leftovers(
    remaining: Sequence[Leftover],
    summary: DeletionSummary,
    options: Options,
    others: Sequence[Leftover] = (),
) -> int:
    kept = [leftover for leftover in remaining if leftover.kept]
    left = [leftover for leftover in remaining if not leftover.kept]
    code = LEFTOVERS if left and not options.check else 0
    for leftover in () if options.json else kept:
        print(f"keep    {leftover}  ({leftover.why})")
    if options.json:
        data = summary.as_data()
        print_json(
            {
                **data,
                "kept": [*data["kept"], *map(str, kept)],
                "left": leftovers.as_data(left, time.time()),
                "others": leftovers.as_data(others, time.time()),
                "exit_code": code,
            }
        )
    elif left:
        print("also found, by tag or network:" if options.check else "still there:")
        print(leftovers.as_table(left, time.time()))
    elif not options.check:
        print(f"nothing is left{' except what is kept' if summary.kept or kept else ''}")
    return code


def _values(resources: Sequence[FoundResource]) -> set[str]:
    """Every text value of these resources, to compare ids with."""
    return {
        value
        for resource in resources
        for value in (resource.found or {}).values()
        if isinstance(value, str)
    }


def _ids(leftover: Leftover) -> set[str]:
    return {leftover.id, leftover.id.rpartition("/")[2]}


def _print_line(text: str) -> None:
    print(text, flush=True)
