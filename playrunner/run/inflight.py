"""Flight: a step of one host from the moment it starts until its result is known; a loop has
several turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playrunner.errors import HostUnreachable, Interrupted, PlayrunnerError, StepFailed
from playrunner.model import Step
from playrunner.results import CENSORED, HIDDEN, Item, status_of
from playrunner.ssh.dispatcher import Courier, Parcel
from playrunner.variables.scope import Scope

# What a defect, or a value that no code expected, is raised as; a host's other endings are plain
# exceptions of their own.
_DEFECTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass
class Turn:
    """The step once: the only time, or for one item of its loop."""

    scope: Scope
    local: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    parcel: Parcel | None = None
    values: dict[str, Any] | None = None  # known, or fetched from the parcel
    attempts: int = 1
    judged: bool = False
    seconds: float = 0.0  # spent on the controller

    def wait(self, courier: Courier) -> dict[str, Any]:
        if self.values is None:
            assert self.parcel
            self.values = {**courier.wait(self.parcel), **self.local}
        return self.values


@dataclass
class Flight:
    """A step under way."""

    step: Step
    title: str
    looped: bool = False
    turns: list[Turn] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    ignored: bool = False
    ignore_unreachable: bool = False
    hidden: bool = False  # no_log
    delegated_to: str = ""
    facts_for: str = ""  # the host that gets the facts (delegate_facts)
    # Of a step in the background: set once its result was taken in
    landed: threading.Event | None = None
    abandoned: bool = False  # in the background, and given up when another step failed
    problem: Exception | None = None  # in the background, and ended by a defect
    reads: frozenset[str] = frozenset()  # in the background: the registered names it read

    def labelled(self, turn: Turn) -> Turn:
        """A turn by the name it is told by; a hidden one has none of its own."""
        turn.label = HIDDEN if self.hidden and turn.label else turn.label
        return turn

    @contextmanager
    def censoring(self) -> Iterator[None]:
        """What goes wrong around a hidden step is told without its words, which may repeat a
        secret."""
        try:
            yield
        except (Interrupted, HostUnreachable):
            raise
        except PlayrunnerError:
            if self.hidden:
                raise StepFailed(f"{self.title}: {HIDDEN}") from None
            raise
        except _DEFECTS as error:
            if self.hidden:
                raise RuntimeError(f"{type(error).__name__}: {HIDDEN}").with_traceback(
                    error.__traceback__
                ) from None
            raise

    def shown(self, values: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[Item, ...]]:
        """What the report and the ledger get: the values and those of each item, or that they are
        hidden."""
        turns = self.turns if self.looped else ()
        if self.hidden:
            return (
                {**CENSORED, "changed": values.get("changed", False)},
                tuple(Item(turn.label, status_of(turn.values or {}), CENSORED) for turn in turns),
            )
        return values, tuple(
            Item(turn.label, status_of(turn.values or {}), turn.values or {}) for turn in turns
        )

    def shown_delegate(self) -> str:
        """The host that does it; of a hidden step as the playbook writes it."""
        return (
            str(self.step.keywords.delegate_to)
            if self.hidden and self.delegated_to
            else self.delegated_to
        )

    def known_failure(self) -> bool:
        return any(
            turn.values is not None
            and (turn.values.get("failed") or turn.values.get("unreachable"))
            for turn in self.turns
        )

    def wait(self, courier: Courier) -> None:
        for turn in self.turns:
            turn.wait(courier)

    def weight(self) -> int:
        """How often it counts: an include counts once for each file or role it brings in."""
        return max(1, sum(1 for turn in self.turns if "include" in (turn.values or {})))

    def values(self) -> dict[str, Any]:
        """What `register` gets: the one turn's values, or the loop's sum."""
        if not self.looped:
            values = dict(self.turns[0].values or {})
            if self.step.retries is not None or self.step.until is not None:
                values["attempts"] = self.turns[0].attempts
            return values
        results = [dict(turn.values or {}) for turn in self.turns]
        changed = any(result.get("changed") for result in results)
        summed: dict[str, Any] = {"results": results, "changed": changed, "skipped": False}
        if not results:
            return {**summed, "skipped": True, "skipped_reason": "No items in the list"}
        for word, message in (
            ("unreachable", "The host did not answer"),
            ("failed", "One or more items failed"),
        ):
            if any(result.get(word) for result in results):
                return {**summed, word: True, "msg": message}
        if all(result.get("skipped") for result in results):
            summed.update(skipped=True, msg="All items skipped")
        if any(status_of(result) == "unknown" for result in results) and not summed["changed"]:
            summed["unknown"] = True
        if summed.get("skipped") or summed.get("unknown"):
            return summed
        return {**summed, "msg": "All items completed"}
