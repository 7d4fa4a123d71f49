"""Deletes what a survey found, in reverse order: a resource goes after everything that uses it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from playrunner.cloud.reconcile import StillInUse, delete_and_wait
from playrunner.cloud.resource import HoldsData
from playrunner.errors import HostUnreachable, RunRefused
from playrunner.frozen import frozen
from playrunner.hostside.module import Failed
from playrunner.lifecycle.in_use import UnderWay
from playrunner.run.survey import FoundResource, Survey

# A longer wait is reported, with each of its reasons, and again after so long
WAITS_SECONDS, STILL_SECONDS = 5.0, 30.0


@frozen
class Deletion:
    """How the deletion of one resource ended: `changed`, `ok` when there was nothing to do, or
    `failed` with the reason."""

    resource: FoundResource
    status: str
    reason: str = ""
    seconds: float = 0.0
    holds_data: bool = False  # kept because of the data in it
    # Something outside the roles uses it; left to the sweep that follows
    later: bool = False


def removable(
    survey: Survey, roles: Sequence[str] | None = None, with_kept: bool = False
) -> list[FoundResource]:
    """The resources that exist, are tagged as ours and belong to these roles (all if None)."""

    def belongs(resource: FoundResource) -> bool:
        role = resource.step.role
        return roles is None or (role is not None and role.name in roles)

    stays = [] if with_kept else kept(survey)
    return [
        resource
        for resource in survey.resources
        if resource.ours and belongs(resource) and resource not in stays
    ]


def kept(survey: Survey) -> list[FoundResource]:
    """The resources whose steps say to keep them, and what these depend on."""
    named = [resource for resource in survey.resources if resource.kept and resource.ours]
    return [
        resource
        for resource in survey.resources
        if resource.ours and (resource.kept or survey.users_of(resource.inflight, named))
    ]


def remove(
    survey: Survey,
    resources: Sequence[FoundResource],
    report: Callable[[Deletion], None],
    waits: Callable[[FoundResource, str], None] = lambda resource, why: None,
    sweep_follows: bool = False,
) -> list[Deletion]:
    """Delete the resources, in parallel where none depends on another; returns each outcome.

    `waits` is called with the reason when one cannot be deleted yet.
    """
    for resource in resources:
        if resource.module.leased:
            ctx = resource.ctx
            ctx.clouds.claim(ctx.scope, ctx.owner.cluster, time.sleep)
    done = {id(resource): threading.Event() for resource in resources}
    under_way = UnderWay() if sweep_follows else None
    outcomes: dict[int, Deletion] = {}

    def work(resource: FoundResource) -> None:
        try:
            users = [
                user
                for user in survey.users_of(resource.inflight, resources)
                if user.inflight is not resource.inflight
            ]
            for user in users:
                done[id(user)].wait()
            stays = next(
                (
                    user
                    for user in users
                    if id(user) not in outcomes or outcomes[id(user)].status == "failed"
                ),
                None,
            )
            if stays:
                outcome = Deletion(
                    resource,
                    "failed",
                    f"{stays.title} still uses it",
                    later=_left_to_sweep(outcomes.get(id(stays))),
                )
            else:
                outcome = _delete(resource, waits, under_way)
            outcomes[id(resource)] = outcome
            report(outcome)
        finally:
            done[id(resource)].set()

    threads = [
        threading.Thread(target=work, args=(resource,), name=resource.title, daemon=True)
        for resource in resources
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [
        outcomes.get(
            id(resource), Deletion(resource, "failed", "stopped by an internal error; see above")
        )
        for resource in resources
    ]


def _left_to_sweep(outcome: Deletion | None) -> bool:
    return outcome is not None and outcome.later


def _delete(
    resource: FoundResource,
    waits: Callable[[FoundResource, str], None],
    under_way: UnderWay | None,
) -> Deletion:
    started = time.monotonic()
    use = under_way.deletion() if under_way else None
    resource.ctx.progress("deleting")
    resource.ctx.refresh()
    try:
        values = delete_and_wait(
            resource.module,
            replace(resource.ctx, progress=_progress_reporter(resource, waits)),
            use,
            resource.found,
        )
    except (Failed, HostUnreachable, RunRefused) as problem:
        return Deletion(
            resource,
            "failed",
            str(problem),
            time.monotonic() - started,
            isinstance(problem, HoldsData),
            isinstance(problem, StillInUse),
        )
    finally:
        if use:
            use.ended()
    return Deletion(
        resource,
        "changed" if values["changed"] else "ok",
        str(values.get("msg", "")),
        time.monotonic() - started,
    )


def _progress_reporter(
    resource: FoundResource, waits: Callable[[FoundResource, str], None]
) -> Callable[[str], None]:
    """Reports progress as the resource does, and to `waits` when it takes long: each reason at
    once, and again as long as it lasts."""
    started, reported = time.monotonic(), dict[str, float]()

    def progress(why: str) -> None:
        resource.ctx.progress(why)
        now = time.monotonic()
        if now - started > WAITS_SECONDS and now - reported.get(why, 0.0) > STILL_SECONDS:
            since = f" (for {now - started:.0f}s)" if why in reported else ""
            reported[why] = now
            waits(resource, f"{why}{since}")

    return progress
