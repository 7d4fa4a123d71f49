"""What is left in an account: a thing as a service describes it, and the same thing as somebody's
leftover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

GLOBAL = "global"  # the region of what belongs to no region: IAM
# The kind that stands for all things of a kind which a service did not show us
UNSEEN = "not looked at"

_BORN = (
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


@dataclass(frozen=True)
class Leftover:
    """A thing in the account that is a stack's, by its mark or by where it is."""

    service: str
    kind: str
    id: str
    name: str
    region: str
    cluster: str  # the stack it belongs to
    run: str = ""  # the run that made it
    who: str = ""
    expires: str = ""
    since: str = ""  # when it was made, as 2026-01-31T08:00:00Z
    why: str = ""  # why it counts as the stack's; once removing it was tried, why it is still there
    monthly_dollars: float | None = None  # None: not priced
    owned: bool = True  # our mark is on it; False: only inside our VPC, or made on behalf of ours
    stays: bool = False  # is listed, but never removed: it may be somebody's data
    within: str = ""  # what it is a part of, where its id alone does not find it
    vpc: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.id}" + (
            f" ({self.name})" if self.name and self.name != self.id else ""
        )

    def summary(self) -> dict[str, Any]:
        """As `--json` shows it."""
        shown = {
            key: value for key, value in vars(self).items() if key not in ("stays", "within", "vpc")
        }
        return {**shown, "removable": not self.stays and self.kind != UNSEEN}


@dataclass(frozen=True)
class Thing:
    """One thing of a service, whoever owns it."""

    id: str
    tags: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    vpc: str = ""
    within: str = ""
    since: str = ""
    monthly_dollars: float | None = 0.0
    going: bool = False  # its deletion is under way
    state: str = ""  # the service's own word for trouble with it
    stack: str = ""  # whose it is when neither a tag nor its VPC says so, known from `sign`
    sign: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


def born(raw: Mapping[str, Any]) -> str:
    """When a thing was made, as far as its service tells."""
    value = next((raw[key] for key in _BORN if raw.get(key)), None)
    if isinstance(value, (int, float)):
        value = datetime.fromtimestamp(value / 1000, UTC)  # CloudWatch counts milliseconds
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(value or "")


def started(run: str) -> str:
    """When a run began, from its id (20260131-080000-a1b2c3): about when the things it made were
    made."""
    try:
        begun = datetime.strptime(run[:15], "%Y%m%d-%H%M%S")
    except ValueError:
        return ""
    return begun.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
