"""Show or delete the resources of roles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from playrunner.cloud.resource import CloudModule
from playrunner.errors import BadInput, Interrupted
from playrunner.frozen import frozen
from playrunner.lifecycle.delete import Deletion, removable, remove
from playrunner.lifecycle.plan_tree import contents_of, identifiers, plan_tree, role_of
from playrunner.options import Options
from playrunner.output.json_output import print_json
from playrunner.playbook.playbook import roles_play
from playrunner.results import Result
from playrunner.run.run import run_plays
from playrunner.run.run_state import RunState
from playrunner.run.survey import FoundResource, Survey


def show_status(roles: Sequence[str], options: Options, command: str) -> int:
    survey = Survey(only_shows=True)

    def show(shared: RunState) -> int:
        chosen = [
            resource
            for resource in survey.resources
            if resource.step.role and resource.step.role.name in roles
        ]
        rows = [
            _row(resource)
            for resource in sorted(chosen, key=lambda resource: resource.step.position)
        ]
        if options.json:
            print_json({"things": rows})
        else:
            _print_table(rows)
        return 0

    return survey_roles(roles, options, command, survey, show)


@frozen
class DeletionSummary:
    """How a deletion went."""

    deletions: Sequence[Deletion]
    kept: Sequence[FoundResource]
    planned: Sequence[FoundResource] = ()  # under --check: what would be deleted
    tree: list[dict[str, Any]] = field(default_factory=list)  # the same, by what uses what

    @property
    def failed(self) -> list[Deletion]:
        return [
            deletion
            for deletion in self.deletions
            if deletion.status == "failed" and not deletion.later
        ]

    def as_data(self) -> dict[str, Any]:
        return {
            "removed": [
                deletion.resource.title
                for deletion in self.deletions
                if deletion.status == "changed"
            ],
            "would_remove": [resource.title for resource in self.planned],
            "tree": self.tree,
            "kept": [resource.title for resource in self.kept],
            "failed": {deletion.resource.title: deletion.reason for deletion in self.failed},
        }


def delete_roles(
    roles: Sequence[str],
    options: Options,
    command: str,
    with_kept: bool = False,
    then: Callable[[RunState, DeletionSummary], int] | None = None,
    before: Callable[[RunState], int] | None = None,
    with_objects: bool = True,
) -> int:
    """Survey, print the plan, ask, and delete; then `then` (a sweep), which gives the exit code.

    Where `before` gives one, that is the end. Without `with_objects`, nothing is deleted while
    objects of users would go with it."""
    survey = Survey(removing=True)

    def go(shared: RunState) -> int:
        resources = removable(survey, roles, with_kept)
        kept = [
            resource for resource in removable(survey, roles, True) if resource not in resources
        ]
        foreign = [
            resource
            for resource in survey.resources
            if resource.found is not None and not resource.ours
        ]
        _print_plan(resources, kept, foreign, options)
        if not with_objects:
            _refuse_with_objects(resources)
        stopped = before(shared) if before else 0
        if stopped:
            return stopped
        asks = bool(resources) and not options.check and not options.yes
        if asks and options.json and not sys.stdin.isatty():
            plan = DeletionSummary((), kept, resources).as_data()
            print_json({**plan, "error": _unasked(len(resources)), "exit_code": BadInput.exit_code})
        if asks and not confirmed(shared, len(resources)):
            if not options.json:
                print("nothing was deleted")
            return Interrupted.exit_code
        deletions = (
            ()
            if options.check
            else remove(
                survey,
                resources,
                lambda deletion: _report_deletion(shared, deletion, options),
                lambda resource, why: _print_wait(resource, why, options),
                sweep_follows=then is not None,
            )
        )
        summary = DeletionSummary(
            deletions,
            kept,
            resources if options.check else (),
            plan_tree(survey, resources) if options.check and options.json else [],
        )
        if then:
            return then(shared, summary)
        if options.json:
            print_json(summary.as_data())
        return 2 if summary.failed else 0

    return survey_roles(roles, options, command, survey, go)


def survey_roles(
    roles: Sequence[str],
    options: Options,
    command: str,
    survey: Survey,
    then: Callable[[RunState], int],
) -> int:
    """Survey the roles silently, then call `then`; with several roles `whole_stack` is set, as an
    inventory need not configure all of them."""
    quiet = replace(options, quiet=True, json=False, check=False)
    extra = {"whole_stack": len(roles) > 1}
    return run_plays([roles_play(roles)], quiet, command, survey=survey, then=then, extra=extra)


def _row(resource: FoundResource) -> dict[str, Any]:
    state = (
        "absent"
        if resource.found is None
        else "foreign"
        if not resource.ours
        else resource.doing or "there"
    )
    return {
        "thing": resource.title,
        "role": role_of(resource),
        "module": resource.step.module,
        "state": state,
        "id": resource.module.label(resource.found) if resource.found is not None else "",
        "ids": identifiers(resource),
    }


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    width = max((len(row["thing"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['thing']:<{width}}  {row['state']:<8}  {row['id']}".rstrip())
    existing = sum(row["state"] not in ("absent", "foreign") for row in rows)
    print(f"{existing} of {len(rows)} resources exist")


def _shown(resource: FoundResource) -> str:
    state = resource.found or {}
    inside = contents_of(resource) if resource.ours else ""
    return f"{resource.title}  {resource.module.label(state)}" + (f"  {inside}" if inside else "")


def _refuse_with_objects(resources: Sequence[FoundResource]) -> None:
    """Before anything is deleted: an operator that is gone leaves its users' jobs behind, and a
    definition takes them along."""
    lost = [
        line
        for resource in resources
        if isinstance(resource.module, CloudModule)
        for line in resource.module.lost_with_it(resource.ctx)
    ]
    if lost:
        raise BadInput(
            f"nothing was deleted: it would destroy {'; '.join(lost)}; end them first, or delete"
            " them along with --with-objects"
        )


def _print_plan(
    resources: Sequence[FoundResource],
    kept: Sequence[FoundResource],
    foreign: Sequence[FoundResource],
    options: Options,
) -> None:
    if options.json:
        return
    for resource in reversed(resources):
        print(f"delete  {_shown(resource)}".rstrip())
    for resource in kept:
        print(f"keep    {_shown(resource)}  (kept; --with-kept deletes it)")
    for resource in foreign:
        whose = resource.module.whose(resource.ctx, resource.found or {})
        print(f"skip    {_shown(resource)}  ({whose})")
    if not resources:
        print("nothing to delete")
    sys.stdout.flush()


def confirmed(shared: RunState, count: int) -> bool:
    if not sys.stdin.isatty():
        raise BadInput(_unasked(count))
    return shared.report.ask(f"Delete these {count} resources? [y/N]").strip().lower() in (
        "y",
        "yes",
    )


def _unasked(count: int) -> str:
    return (
        f"{count} resources would be deleted and there is no terminal to ask on; use --yes, or"
        " --check for the plan only"
    )


def _print_wait(resource: FoundResource, why: str, options: Options) -> None:
    if not options.json:
        print(f"waiting {resource.title}  {why}\n", end="", flush=True)


def _report_deletion(shared: RunState, deletion: Deletion, options: Options) -> None:
    resource, step = deletion.resource, deletion.resource.step
    shared.report.progress_ends(resource.ctx.host, resource.title)
    status = "ok" if deletion.later else deletion.status
    values = {"changed": status == "changed", "failed": status == "failed", "msg": deletion.reason}
    shared.add_result(
        Result(
            resource.ctx.host,
            resource.title,
            step.module,
            status,
            values,
            round(deletion.seconds, 3),
            step.place,
            step.position,
        )
    )
    if not options.json and deletion.later:
        print(f"later   {resource.title}  {deletion.reason}\n", end="", flush=True)
    elif not options.json and deletion.status != "failed":
        line = (
            f"deleted {resource.title}  {deletion.seconds:.1f}s"
            if deletion.status == "changed"
            else f"absent  {resource.title}"
        )
        print(f"{line}\n", end="", flush=True)  # in one call: several threads print
