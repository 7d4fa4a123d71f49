"""Thing, a resource as its service describes it, and Leftover, a resource left of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from playrunner.frozen import frozen

GLOBAL = "global"  # the region of what belongs to no region: IAM
# The kind that stands for all resources of a kind that a service did not list
UNSEEN = "not looked at"

_CREATION_FIELDS = (
    "createdAt",
    "CreateTime",
    "CreationTime",
    "CreateDate",
    "CreationDate",
    "LaunchTime",
    "CreatedTime",
    "StartTime",
    "CreationTimestamp",
    "creationTime",
)


@frozen
class Leftover:
    """A resource in the account that belongs to a stack, by its tag or by where it is."""

    service: str
    kind: str
    id: str
    name: str
    region: str
    cluster: str  # the stack it belongs to
    run: str = ""  # the run that created it
    who: str = ""
    expires: str = ""
    since: str = ""  # when it was created, as 2026-01-31T08:00:00Z
    why: str = ""  # why it counts as the stack's; after a failed deletion, why it still exists
    monthly_dollars: float | None = None  # None: not priced
    owned: bool = True  # tagged as ours; False: only inside our VPC, or created for one of ours
    by_tag: bool = False  # our tag is all there is to say about it: `why` adds nothing
    stays: bool = False  # listed, but never deleted: it may hold data of others
    within: str = ""  # what it is a part of, where its id alone does not find it
    vpc: str = ""
    kept: bool = False  # its own tag says that a teardown leaves it
    contents: str = ""  # how much is in it, as "holds 3 objects (1.0 MiB)"
    others: bool = False  # in our network, and made by others: deleted only when it is named
    emptied: bool = False  # deleting it deletes what is in it, which nobody was shown

    def __str__(self) -> str:
        return f"{self.kind} {self.id}" + (
            f" ({self.name})" if self.name and self.name != self.id else ""
        )

    def summary(self) -> dict[str, Any]:
        """As `--json` shows it."""
        shown = {
            key: value
            for key, value in vars(self).items()
            if key not in ("by_tag", "stays", "within", "vpc", "emptied", "others")
        }
        return {**shown, "removable": not self.stays and self.kind != UNSEEN}


@frozen
class ServiceResource:
    """One resource of a service, whatever its owner."""

    id: str
    tags: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    vpc: str = ""
    within: str = ""
    since: str = ""
    monthly_dollars: float | None = 0.0
    deleting: bool = False  # its deletion is in progress
    state: str = ""  # the service's own message about a failure
    stack: str = ""  # its stack when neither a tag nor its VPC says so, known from `sign`
    sign: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


def created_at(raw: Mapping[str, Any]) -> str:
    """When a resource was created, as far as its service tells."""
    value = next((raw[key] for key in _CREATION_FIELDS if raw.get(key)), None)
    if isinstance(value, (int, float)):
        value = datetime.fromtimestamp(value / 1000, UTC)  # CloudWatch counts milliseconds
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(value or "")


def started(run: str) -> str:
    """When a run began, from its id (20260131-080000-a1b2c3): about when its resources were
    created."""
    try:
        begun = datetime.strptime(run[:15], "%Y%m%d-%H%M%S")
    except ValueError:
        return ""
    return begun.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
