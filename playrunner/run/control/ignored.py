"""Whether a step's failures are ignored: ignore_errors and ignore_unreachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.errors import UndefinedVariable
from playrunner.run.inflight import InFlightStep
from playrunner.variables.scope import Scope

Flag = Callable[[Any, Scope], bool]


def read_ignored(inflight: InFlightStep, flag: Flag, scope: Scope) -> None:
    """Where it depends on the loop item, those that failed are asked, and until then nothing
    stops."""
    keywords = inflight.step.keywords
    try:
        inflight.ignored = flag(keywords.ignore_errors, scope)
        inflight.ignore_unreachable = flag(keywords.ignore_unreachable, scope)
    except UndefinedVariable:
        if inflight.step.loop is None:
            raise
        inflight.ignored = inflight.ignore_unreachable = True
        inflight.flag_of_items = flag


def decide_ignored(inflight: InFlightStep) -> None:
    """A loop's failure is ignored if that of each of its failed items is."""
    if inflight.flag_of_items is None:
        return
    keywords = inflight.step.keywords
    inflight.ignored = _all_ignored(inflight, "failed", keywords.ignore_errors)
    inflight.ignore_unreachable = _all_ignored(inflight, "unreachable", keywords.ignore_unreachable)


def _all_ignored(inflight: InFlightStep, status: str, written: Any) -> bool:
    assert inflight.flag_of_items
    failed = [item for item in inflight.items if (item.values or {}).get(status)]
    return all(inflight.flag_of_items(written, item.scope) for item in failed)
