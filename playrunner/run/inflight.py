"""InFlightStep: a step of one host from its start until its result is processed, with one LoopItem
for each item of its loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from playrunner.errors import HostUnreachable, Interrupted, PlayrunnerError, StepFailed
from playrunner.frozen import mutable
from playrunner.model import Step
from playrunner.results import CENSORED, HIDDEN, Item, Result, status_of
from playrunner.ssh.dispatcher import AgentDispatcher, AgentRequest
from playrunner.variables.scope import Scope
from playrunner.vault.masking import masking

# What a defect or an unexpected value raises; how a host's play ends has its own exceptions.
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


_PRINTING = ("play.debug", "play.fail", "play.assert", "play.pause")
_OUTPUT = ("stdout", "stdout_lines", "stderr", "stderr_lines")
_HIDDEN_DIFF = {"before": None, "after": "hidden because the source is encrypted with vault"}


def _without_diff(values: Mapping[str, Any]) -> Mapping[str, Any]:
    values = {**values, "diff": _HIDDEN_DIFF} if values.get("diff") else values
    if isinstance(values.get("results"), list):
        return {**values, "results": [_without_diff(result) for result in values["results"]]}
    return values


@mutable
class LoopItem:
    """One item of a step's loop; a step without a loop has exactly one."""

    scope: Scope
    local: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    label_reads_result: bool = False  # it is rendered once the item's result is known
    agent_request: AgentRequest | None = None
    values: dict[str, Any] | None = None  # known, or fetched from the agent
    attempts: int = 1
    warnings: list[str] = field(default_factory=list)  # of all attempts on the controller
    conditions_applied: bool = False
    hides_diff: bool = False  # what is sent was encrypted with vault
    seconds: float = 0.0  # spent on the controller
    polls: list[dict[str, Any]] = field(default_factory=list)  # states of its job (async)

    def with_warnings(self, values: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
        """The values of an attempt with the warnings of it and those before: a server's are taken
        only once in a run, and the last attempt's values are the step's."""
        self.warnings = list(dict.fromkeys([*self.warnings, *warnings]))
        return {**values, "warnings": self.warnings} if self.warnings else values

    def wait(self, dispatcher: AgentDispatcher) -> dict[str, Any]:
        if self.values is None:
            assert self.agent_request
            self.values = {**dispatcher.wait(self.agent_request), **self.local}
        return self.values


@mutable
class InFlightStep:
    """A started step."""

    step: Step
    title: str
    looped: bool = False
    items: list[LoopItem] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    ignored: bool = False
    ignore_unreachable: bool = False
    # Set where whether failures are ignored depends on the loop item
    flag_of_items: Callable[[Any, Scope], bool] | None = None
    fatal: bool = False  # any_errors_fatal: its failure is that of every host
    hidden: bool = False  # no_log
    silent: bool = False  # another host's result stands for it
    delegated_to: str = ""
    facts_for: str = ""  # the host that gets the facts (delegate_facts)
    # Of a background step: set once its result was processed
    done: threading.Event | None = None
    cancelled: bool = False  # a background step that stopped when another step failed
    problem: Exception | None = None  # a background step that ended by a defect
    reads: frozenset[str] = frozenset()  # of a background step: the registered names it read

    def is_skipped(self) -> bool:
        """Whether no item of it runs; of a step in the background that is known only later."""
        return self.done is None and all((item.values or {}).get("skipped") for item in self.items)

    def labelled(self, item: LoopItem) -> LoopItem:
        """The item with the label it is shown by, which no_log hides."""
        item.label = HIDDEN if self.hidden and item.label else item.label
        return item

    @contextmanager
    def censoring(self) -> Iterator[None]:
        """Errors of a no_log step are raised without their text, which may repeat a secret."""
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
        """What the report and the ledger get: the values and those of each item, or HIDDEN."""
        items = self.items if self.looped else ()
        if self.hidden or any((item.values or {}).get("_ansible_no_log") for item in self.items):
            return (
                {**CENSORED, "changed": values.get("changed", False)},
                tuple(Item(item.label, status_of(item.values or {}), CENSORED) for item in items),
            )
        if any(item.hides_diff for item in self.items):
            values = _without_diff(values)
            shown_items = [_without_diff(item.values or {}) for item in items]
        else:
            shown_items = [item.values or {} for item in items]
        if masking:
            values, *shown_items = map(self._masked, [values, *shown_items])
        return values, tuple(
            Item(masking.text(item.label), status_of(item.values or {}), shown)
            for item, shown in zip(items, shown_items, strict=True)
        )

    def _masked(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values without decrypted texts, except where the step prints them on purpose."""
        failed = self.step.module == "play.debug" and values.get("failed")
        if self.step.module in _PRINTING and not failed:
            return values
        return masking.value(values, _OUTPUT)  # type: ignore[no-any-return]

    def shown_delegate(self) -> str:
        """The host it is delegated to; for a no_log step, as the playbook writes it."""
        return (
            str(self.step.keywords.delegate_to)
            if self.hidden and self.delegated_to
            else self.delegated_to
        )

    def result(
        self, host: str, values: Mapping[str, Any], status: str, play: int, rescued: bool
    ) -> Result:
        """What the report and the ledger get of this step."""
        step = self.step
        shown, items = self.shown(values)
        seconds = sum(
            item.agent_request.seconds if item.agent_request else item.seconds
            for item in self.items
        )
        return Result(
            host,
            self.title,
            step.module,
            status,
            shown,
            round(seconds, 3),
            step.place,
            step.position,
            items,
            rescued=rescued,
            ignored=self.ignore_unreachable if status == "unreachable" else self.ignored,
            attempts=max((item.attempts for item in self.items), default=1),
            delegated_to=self.shown_delegate(),
            play=play,
            weight=self.weight(),
            polls=tuple(state for item in self.items for state in item.polls),
        )

    def known_failure(self) -> bool:
        return any(
            item.values is not None
            and (item.values.get("failed") or item.values.get("unreachable"))
            for item in self.items
        )

    def wait(self, dispatcher: AgentDispatcher) -> None:
        for item in self.items:
            item.wait(dispatcher)

    def weight(self) -> int:
        """How often it counts in the recap: an include counts once per file or role."""
        return max(1, sum(1 for item in self.items if "include" in (item.values or {})))

    def _values_of(self, item: LoopItem) -> dict[str, Any]:
        values = dict(item.values or {})
        if self.step.retries is not None or self.step.until is not None:
            values["attempts"] = item.attempts
        return values

    def values(self) -> dict[str, Any]:
        """What `register` gets: the values of the only item, or the sum of the loop."""
        if not self.looped:
            return self._values_of(self.items[0])
        results = [self._values_of(item) for item in self.items]
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
