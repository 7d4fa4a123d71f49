"""What there is of a cluster, by role, with age, owner, expiry and price: the answers of `status`
and `audit` joined by the names that a service gives its resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playrunner.frozen import frozen

OF_NO_ROLE = "made by services, or of no role"
_ABSENT = ("absent", "foreign")


@frozen
class ResourceRow:
    state: str
    thing: str
    id: str
    module: str
    found: Mapping[str, Any]  # what the audit says of it; empty where it lists no such resource

    @property
    def exists(self) -> bool:
        return self.state not in _ABSENT


@frozen
class RoleGroup:
    role: str
    rows: list[ResourceRow]

    @property
    def existing(self) -> int:
        return sum(row.exists for row in self.rows)

    def total(self, name: str) -> float:
        return sum(float(row.found.get(name) or 0.0) for row in self.rows)


def by_role(status: Mapping[str, Any], audit: Mapping[str, Any]) -> list[RoleGroup]:
    """Roles in the order in which they are created, then what belongs to none of them."""
    listed = [
        thing
        for cluster in _mappings(audit.get("clusters"))
        for thing in _mappings(cluster.get("things"))
    ]
    groups: dict[str, list[ResourceRow]] = {}
    for thing in _mappings(status.get("things")):
        audit_entry = {} if thing.get("state") in _ABSENT else _taken(thing, listed)
        groups.setdefault(str(thing.get("role", "")), []).append(
            ResourceRow(
                str(thing.get("state", "")),
                str(thing.get("thing", "")),
                str(thing.get("id", "")),
                str(thing.get("module", "")),
                audit_entry,
            )
        )
    if listed:
        groups[OF_NO_ROLE] = [
            ResourceRow(
                "there",
                str(thing.get("name") or thing.get("id", "")),
                str(thing.get("id", "")),
                f"{thing.get('service', '')} {thing.get('kind', '')}",
                thing,
            )
            for thing in listed
        ]
    return [RoleGroup(role, rows) for role, rows in groups.items()]


def _taken(thing: Mapping[str, Any], listed: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The audit's entry for a resource, which is then no other's; kinds may share a name."""
    names = {str(name) for name in thing.get("ids") or ()}
    candidates = [
        entry
        for entry in listed
        if names & {str(entry.get("id", "")), str(entry.get("id", "")).rpartition("/")[2]}
    ]
    if not candidates:
        return {}
    kind = str(thing.get("module", "")).rpartition(".")[2].replace("_", "")
    best = max(candidates, key=lambda entry: _plain(entry.get("kind")) in (kind, f"eks{kind}"))
    listed.remove(best)
    return best


def _plain(kind: Any) -> str:
    return "".join(filter(str.isalnum, str(kind or "").lower()))


def _mappings(values: Any) -> Sequence[Mapping[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
