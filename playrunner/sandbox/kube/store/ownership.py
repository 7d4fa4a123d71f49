"""Who owns which field of an object: the managed fields of its metadata, kept up with every
write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from playrunner.sandbox.kube.schema.schema import Schema
from playrunner.sandbox.kube.store.fieldsets import Fields, changed_fields, from_json, to_json

# Fields of every object that have no owner.
_COMMON = ("f:apiVersion",), ("f:kind",), ("f:metadata",)
_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
UNOWNED: Fields = {*_COMMON, *(("f:metadata", f"f:{name}") for name in _METADATA)}


@dataclass(frozen=True)
class Owner:
    """One entry: what one manager has set, in one way."""

    manager: str
    operation: str  # Apply or Update
    api_version: str
    subresource: str
    time: str
    fields: frozenset[tuple[str, ...]]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        version = (
            "" if self.operation == "Apply" else self.api_version
        )  # who applies is the same in every version
        return self.manager, self.operation, version, self.subresource

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
        }
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_json(set(self.fields))}
        return entry | ({"subresource": self.subresource} if self.subresource else {})


def owners_of(obj: dict[str, Any]) -> list[Owner]:
    return [
        Owner(
            entry.get("manager", ""),
            entry.get("operation", "Update"),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
            entry.get("time", ""),
            frozenset(from_json(entry.get("fieldsV1") or {})),
        )
        for entry in obj["metadata"].get("managedFields") or []
    ]


def with_owners(obj: dict[str, Any], owners: list[Owner]) -> dict[str, Any]:
    """The object with these entries; those that own nothing are left out."""
    kept = sorted(
        (owner for owner in owners if owner.fields),
        key=lambda owner: (owner.operation, owner.time, owner.manager),
    )
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    if kept:
        metadata["managedFields"] = [owner.entry() for owner in kept]
    return {**obj, "metadata": metadata}


def after_update(
    before: dict[str, Any] | None, after: dict[str, Any], schema: Schema, writer: Owner
) -> dict[str, Any]:
    """The object after a create, replace or patch: the writer takes over what it changed from
    earlier owners."""
    touched, removed = changed_fields(before or {}, after, schema)
    touched -= UNOWNED
    if before is not None and not touched and not removed:
        return with_owners(after, owners_of(before))
    others = [
        replace(one, fields=one.fields - touched - removed)
        for one in owners_of(before or {"metadata": {}})
    ]
    mine = next((one for one in others if one.identity == writer.identity), None)
    kept = [one for one in others if one is not mine]
    had = mine.fields if mine else frozenset()
    mine_now = replace(
        writer,
        fields=frozenset(had | touched),
        time=writer.time if touched or mine is None else mine.time,
    )
    return with_owners(after, [*kept, mine_now])
