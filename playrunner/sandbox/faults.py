"""What to break, and when: a list of faults, each selecting the requests it hits. Any pretend
service can ask it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any

REQUEST_KINDS = (
    "throttle",  # refused: too many requests
    "error",  # a 5xx answer, `status` says which; not applied
    "reset",  # the connection is reset before anything is done
    "timeout",  # no answer for `seconds`; not applied
    "lost",  # applied, but the answer never arrives: the connection is reset
    "deny",  # refused: not authorised
    "slow",  # answered, but only after `seconds` (Kubernetes only)
    "drop",  # a watch or log that breaks off after `seconds` (Kubernetes only)
)
RESOURCE_KINDS = (
    "insufficient_capacity",  # no machines of `instance_type` in `zone`
    "fails_later",  # accepted, then ends in a failed state with `code` and `message`
)


class BadFault(ValueError):
    """The fault asked for makes no sense; the message says why."""


@dataclass
class Fault:
    """One thing that goes wrong. Without `nth` and `probability` it strikes every matching
    request."""

    kind: str
    service: str = "*"  # as boto3 spells it; a pattern
    action: str = "*"  # as the API spells it; a pattern, or several with commas
    mutating: bool | None = None  # only requests that change something (or only those that do not)
    nth: int | None = None  # only the nth matching request, counted from 1
    probability: float | None = None
    seed: int = 0
    times: int | None = None  # stop after so many strikes
    status: int = 500
    seconds: float = 65.0  # one second past boto3's own patience would do; five leave room
    zone: str = "*"  # a zone's name or id
    instance_type: str = "*"
    name: str = "*"  # the resource that fails later
    code: str = ""
    message: str = ""
    seen: int = field(default=0, init=False)
    struck: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.kind not in REQUEST_KINDS + RESOURCE_KINDS:
            raise BadFault(
                f"unknown kind of fault {self.kind!r}; valid are:"
                f" {', '.join(REQUEST_KINDS + RESOURCE_KINDS)}"
            )
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise BadFault(f"probability must be between 0 and 1, not {self.probability}")
        if self.nth is not None and self.nth < 1:
            raise BadFault(f"nth must be 1 or more, not {self.nth}")
        self._random = random.Random(self.seed)

    def strikes(self, service: str, action: str, mutating: bool) -> bool:
        """Whether this request is hit; every matching request is counted."""
        if not self.concerns(service, action) or self.mutating not in (None, mutating):
            return False
        return self._draw()

    def concerns(self, service: str, action: str) -> bool:
        return fnmatchcase(service, self.service) and any(
            fnmatchcase(action, one.strip()) for one in self.action.split(",")
        )

    def _draw(self) -> bool:
        self.seen += 1
        if self.times is not None and self.struck >= self.times:
            return False
        if self.nth is not None and self.seen != self.nth:
            return False
        if self.probability is not None and self._random.random() >= self.probability:
            return False
        self.struck += 1
        return True

    def summary(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self.all: list[Fault] = []

    def add(self, faults: Iterable[Mapping[str, Any]]) -> None:
        self.all += [_fault(values) for values in faults]

    def striking(self, service: str, action: str, mutating: bool) -> Fault | None:
        """The first fault that hits this request. The others still count it."""
        hits = [
            fault
            for fault in self.all
            if fault.kind in REQUEST_KINDS and fault.strikes(service, action, mutating)
        ]
        return hits[0] if hits else None

    def no_capacity(self, zone_names: Iterable[str], instance_type: str) -> bool:
        """Whether machines of this type have run out in a zone (given by its name and id)."""
        names = tuple(zone_names)
        scarce = [fault for fault in self.all if fault.kind == "insufficient_capacity"]
        return any(
            any(fnmatchcase(name, fault.zone) for name in names)
            and fnmatchcase(instance_type, fault.instance_type)
            and fault.strikes(fault.service, fault.action, True)
            for fault in scarce
        )

    def fails_later(self, service: str, action: str, name: str) -> Fault | None:
        """The fault that makes this accepted request end badly."""
        for fault in self.all:
            if (
                fault.kind == "fails_later"
                and fnmatchcase(name, fault.name)
                and fault.strikes(service, action, True)
            ):
                return fault
        return None


def _fault(values: Mapping[str, Any]) -> Fault:
    known = {field.name for field in fields(Fault) if field.init}
    unknown = sorted(set(values) - known)
    if unknown:
        raise BadFault(
            f"unknown fault field {', '.join(unknown)}; valid are: {', '.join(sorted(known))}"
        )
    if "kind" not in values:
        raise BadFault("a fault needs a kind")
    return Fault(**values)
