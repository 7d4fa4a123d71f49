"""Result: what one step did on one host, and the counts of a recap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from playrunner.errors import Place
from playrunner.frozen import frozen, mutable
from playrunner.model import Position

COUNTS = ("ok", "changed", "unreachable", "failed", "skipped", "rescued", "ignored", "unknown")
NOWHERE = Place("")
HIDDEN = "hidden because no_log is set"
CENSORED = {"censored": HIDDEN}


@frozen
class Item:
    """The result of one loop item."""

    label: str
    status: str
    values: Mapping[str, Any]


@frozen
class Result:
    """What one step did on one host."""

    host: str
    step: str
    module: str
    status: str  # ok, changed, skipped, failed, unreachable or unknown
    values: Mapping[str, Any]  # what `register` gets
    seconds: float = 0.0
    place: Place = NOWHERE
    position: Position = ()
    items: tuple[Item, ...] = ()
    rescued: bool = False
    ignored: bool = False
    attempts: int = 1
    delegated_to: str = ""
    play: int = 0
    weight: int = 1  # how often it counts in the recap
    polls: tuple[Mapping[str, Any], ...] = ()  # states of its jobs (async), the last ones final

    @property
    def changed(self) -> bool:
        return bool(self.values.get("changed"))

    @property
    def message(self) -> str:
        return str(self.values.get("msg") or "")

    def counts(self) -> dict[str, int]:
        """What it adds to the recap."""
        if self.status in ("failed", "unreachable") and self.ignored:
            return {"ok": 1, "ignored": 1, **({"changed": 1} if self.changed else {})}
        if self.status == "failed" and self.rescued:
            return {"rescued": 1}
        if self.status == "changed":
            return {"ok": 1, "changed": 1}
        return {self.status: self.weight}


@mutable
class Recap:
    """The counts of each host, and the slowest steps."""

    hosts: dict[str, dict[str, int]] = field(default_factory=dict)
    slowest: list[tuple[float, str, str]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.touch(result.host)
        for name, number in result.counts().items():
            self.hosts[result.host][name] += number
        self.slowest = sorted(
            [*self.slowest, (result.seconds, result.host, result.step)], reverse=True
        )[:5]

    def touch(self, host: str) -> None:
        self.hosts.setdefault(host, dict.fromkeys(COUNTS, 0))

    def total(self, name: str) -> int:
        return sum(counts[name] for counts in self.hosts.values())


def status_of(values: Mapping[str, Any]) -> str:
    for status in ("unreachable", "failed", "unknown", "skipped"):
        if values.get(status):
            return status
    return "changed" if values.get("changed") else "ok"
