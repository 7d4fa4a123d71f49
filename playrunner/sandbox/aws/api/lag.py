"""Lag: reads that show an account as it was some seconds ago, now and then, as those of AWS do.

An answer may be given again as long as everything that was changed since then is younger than the
lag. Which reads are late is drawn: what one read shows the next may not show any more. A read that
names a thing younger than the lag may not find it.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

LATE = 0.6  # the part of reads that are late
_ID = re.compile(r"\b([a-z]{1,12})-[0-9a-f]{8,17}\b")
_MISSING = {
    "vpc": "InvalidVpcID.NotFound",
    "subnet": "InvalidSubnetID.NotFound",
    "igw": "InvalidInternetGatewayID.NotFound",
    "nat": "NatGatewayNotFound",
    "rtb": "InvalidRouteTableID.NotFound",
    "sg": "InvalidGroup.NotFound",
    "eipalloc": "InvalidAllocationID.NotFound",
    "i": "InvalidInstanceID.NotFound",
}


@dataclass
class Lag:
    """The answers of late, and what was changed and made since."""

    settings: Callable[[], dict[str, float]]
    clock: Callable[[], float] = time.monotonic
    _answers: dict[Hashable, list[tuple[float, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _changes: list[tuple[float, str]] = field(default_factory=list)
    _born: dict[str, float] = field(default_factory=dict)
    _draw: random.Random = field(default_factory=lambda: random.Random(7))

    def seconds(self, service: str, action: str) -> float:
        settings = self.settings()
        names = (f"{service}:{action}", f"{service}:*", "*")
        return next((float(settings[name]) for name in names if name in settings), 0.0)

    def changed(self, service: str, answer: bytes) -> None:
        """A change was made, with this answer."""
        if not self.settings():
            self._forget()
            return
        self._changes.append((self.clock(), service))
        for match in _ID.finditer(answer.decode(errors="replace")):
            self._born.setdefault(match[0], self.clock())

    def _forget(self) -> None:
        """Without lag, everything that has happened shows everywhere, also later."""
        for known in (self._answers, self._changes, self._born):
            known.clear()

    def missing(self, service: str, action: str, request: bytes) -> tuple[str, str] | None:
        """The code of an error and the id it is about, where a read names a thing that is too new
        to be known."""
        seconds = self.seconds(service, action)
        if not seconds or service != "ec2":
            return None
        for match in _ID.finditer(request.decode(errors="replace")):
            age = self.clock() - self._born.get(match[0], float("-inf"))
            if age < seconds and match[1] in _MISSING and self._draw.random() < LATE:
                return _MISSING[match[1]], match[0]
        return None

    def answer(self, service: str, action: str, key: Hashable, fresh: Any) -> Any:
        """The answer to a read: the fresh one, or an earlier one that may still be shown."""
        seconds, now = self.seconds(service, action), self.clock()
        if not seconds:
            return fresh
        # What is older than a change that everybody sees by now is not shown any more, nor later
        visible = max(
            (
                changed
                for changed, where in self._changes
                if where == service and changed <= now - seconds
            ),
            default=0.0,
        )
        known = self._answers[key] = [
            (at, reply) for at, reply in self._answers[key] if at >= visible
        ]
        allowed = [reply for _, reply in known]
        known.append((now, fresh))
        late = bool(allowed) and self._draw.random() < LATE
        return allowed[0] if late else fresh
