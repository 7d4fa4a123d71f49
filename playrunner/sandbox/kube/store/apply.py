"""Server-side apply: merge what a manager wants into what is there, and tell it who else wants
something different."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.sandbox.kube.schema import schema as schemas
from playrunner.sandbox.kube.schema.problems import Refusal
from playrunner.sandbox.kube.schema.schema import Schema
from playrunner.sandbox.kube.store.fieldsets import (
    Fields,
    changed_fields,
    fields_of,
    item_step,
    members_of,
    spelled,
    with_parents,
    without,
)
from playrunner.sandbox.kube.store.ownership import UNOWNED, Owner, owners_of, with_owners

_FIRST = "before-first-apply"  # owns what was there when managed fields began


def applied(
    live: dict[str, Any],
    wanted: dict[str, Any],
    schema: Schema,
    writer: Owner,
    *,
    force: bool,
    empty: Fields,
) -> dict[str, Any]:
    """The live object after the apply, managed fields included; refused where it takes a field from
    someone else."""
    owners = owners_of(live) or _first_owner(live, schema, writer)
    mine = (fields_of(wanted, schema) | empty) - UNOWNED
    before = next((owner for owner in owners if owner.identity == writer.identity), None)
    others = [owner for owner in owners if owner is not before]
    merged = merged_values(live, wanted, schema)
    if before is not None:
        merged = _pruned(merged, set(before.fields), mine, others, schema)
    touched, removed = changed_fields(live, merged, schema)
    again = _empty_again(live, empty)
    conflicts = [
        (owner, sorted(owner.fields & disputed))
        for owner in others
        if owner.fields & (disputed := touched | again if owner.operation == "Apply" else touched)
    ]
    if conflicts and not force:
        raise _conflict(conflicts)
    others = [replace(owner, fields=owner.fields - touched - removed) for owner in others]
    unchanged = before is not None and before.fields == mine and not touched and not removed
    time = before.time if before is not None and unchanged else writer.time
    return with_owners(merged, [*others, replace(writer, fields=frozenset(mine), time=time)])


def empty_maps(wanted: Any, path: tuple[str, ...] = ()) -> Fields:
    """Maps that are applied without a member; they are owned, though never stored."""
    if wanted == {} and path:
        return {path}
    members = wanted.items() if isinstance(wanted, dict) else ()
    return {found for name, value in members for found in empty_maps(value, (*path, f"f:{name}"))}


def _empty_again(live: Any, empty: Fields) -> Fields:
    """Those that the object does not have: who applies one that another has applied seems to
    change it."""
    return {path for path in empty if not _value_at(live, path)}


def _value_at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step[2:]) if isinstance(value, dict) else None
    return value


def merged_values(live: Any, wanted: Any, schema: Schema) -> Any:
    """What is wanted on top of what is there; keyed lists by their keys, sets as sets."""
    if type(live) is not type(wanted) or schemas.is_atomic(schema, wanted):
        return wanted
    if isinstance(wanted, dict):
        merged = dict(live)
        for name, value in wanted.items():
            inner = schemas.field(schema, name) or schemas.ANYTHING
            if value is None:
                merged.pop(name, None)
            else:
                merged[name] = merged_values(live[name], value, inner) if name in live else value
        return merged
    if schema.get("x-kubernetes-list-type") == "set":
        return [*wanted, *(one for one in live if one not in wanted)]
    return _merged_list(live, wanted, schema)


def _merged_list(live: list[Any], wanted: list[Any], schema: Schema) -> list[Any]:
    """What was there keeps its place; what is new comes where the applied list has it, after what
    it follows there."""
    inner = schemas.items(schema)
    new = {item_step(item, schema): item for item in wanted}
    if len(new) < len(wanted):
        raise Refusal(
            500,
            "InternalError",
            "failed to create typed patch object: duplicate entries for a list key",
        )
    there = {step: item for step, item, _ in members_of(live, schema)}
    merged = {
        step: merged_values(there[step], item, inner) if step in there else item
        for step, item in new.items()
    }
    order: list[str] = []
    ahead = list(new)
    for step in there:
        if step in new:
            while ahead and ahead[0] not in there:
                order.append(ahead.pop(0))
            if step in ahead:
                ahead.remove(step)
        order.append(step)
    order += [step for step in ahead if step not in order]
    return [merged[step] if step in merged else there[step] for step in order]


def _pruned(merged: Any, had: Fields, has: Fields, others: list[Owner], schema: Schema) -> Any:
    """Without what the manager applied before and does not apply now, unless another manager owns
    it."""
    kept = with_parents(has) | with_parents(path for one in others for path in one.fields)
    for path in sorted(with_parents(had) - kept - UNOWNED, key=len):
        merged = without(merged, path, schema)
    return merged


def _first_owner(live: dict[str, Any], schema: Schema, writer: Owner) -> list[Owner]:
    if not live.get("metadata", {}).get("uid"):
        return []
    fields = (
        fields_of({name: one for name, one in live.items() if name != "status"}, schema) - UNOWNED
    )
    return [replace(writer, manager=_FIRST, operation="Update", fields=frozenset(fields))]


def _conflict(conflicts: list[tuple[Owner, list[tuple[str, ...]]]]) -> Refusal:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_named(owner)}",
            "field": spelled(path),
        }
        for owner, paths in conflicts
        for path in paths
    ]
    if len(causes) == 1:
        listed = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = []
        for owner, paths in conflicts:
            lines += [f"conflicts with {_named(owner)}:", *(f"- {spelled(path)}" for path in paths)]
        listed = f"{len(causes)} conflicts: " + "\n".join(lines)
    return Refusal(409, "Conflict", f"Apply failed with {listed}", {"causes": causes})


def _named(owner: Owner) -> str:
    name = f'"{owner.manager}"' + (
        f' with subresource "{owner.subresource}"' if owner.subresource else ""
    )
    return (
        f"{name} using {owner.api_version} at {owner.time}" if owner.operation == "Update" else name
    )
