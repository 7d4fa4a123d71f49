"""What a result goes through: changed_when, failed_when, until, and which facts are kept."""

from __future__ import annotations

from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.variables.scope import Scope

NO_TRACEBACK = "(traceback unavailable)"  # what a failed result has as its `exception`
_WITHOUT_CONDITIONS = ("skipped", "unreachable", "unknown", "passed")


def apply_result_conditions(inflight: InFlightStep, item: LoopItem) -> None:
    """Apply `changed_when` and `failed_when`, once."""
    step, values = inflight.step, item.values
    if item.label_reads_result and values is not None:
        _set_label(inflight, item)
    if item.conditions_applied or values is None or any(map(values.get, _WITHOUT_CONDITIONS)):
        return
    item.conditions_applied = True
    if step.changed_when is None and step.failed_when is None:
        return
    scope = _with_result(inflight, item)
    keyword = "changed_when"
    try:
        if step.changed_when is not None:
            values["changed"] = scope.run_vars.templar.truth(step.changed_when, scope)
        keyword = "failed_when"
        if step.failed_when is not None:
            failed_before = values.get("failed")
            values["failed"] = values["failed_when_result"] = scope.run_vars.templar.truth(
                step.failed_when, scope
            )
            if failed_before and not values["failed"]:
                values["failed_when_suppressed_exception"] = NO_TRACEBACK
    except PlayrunnerError as error:
        # Ansible keeps the message where the condition's value would be.
        values.update({"failed": True, "msg": str(error), f"{keyword}_result": str(error)})


def satisfied(inflight: InFlightStep, item: LoopItem) -> bool:
    """Whether `until` holds; with `retries` alone, whether the step succeeded."""
    assert item.values is not None
    if any(map(item.values.get, _WITHOUT_CONDITIONS)):
        return True
    apply_result_conditions(inflight, item)
    if inflight.step.until is None:
        return not item.values.get("failed")
    scope = _with_result(inflight, item)
    try:
        return scope.run_vars.templar.truth(inflight.step.until, scope)
    except PlayrunnerError as error:
        # Asking again would not mend the condition itself.
        item.values.update(failed=True, changed=False, msg=str(error))
        return True


def _set_label(inflight: InFlightStep, item: LoopItem) -> None:
    """Render a label that reads the item's own result; without it the item fails."""
    item.label_reads_result = False
    loop, scope = inflight.step.loop, _with_result(inflight, item)
    assert loop is not None and item.values is not None
    try:
        item.label = str(scope.run_vars.templar.render(loop.label, scope))
        inflight.labelled(item)
    except PlayrunnerError as error:
        item.values.pop("skipped", None)
        item.values.update(failed=True, msg=str(error))


def _with_result(inflight: InFlightStep, item: LoopItem) -> Scope:
    step = inflight.step
    if not step.register:
        return item.scope
    repeated = step.until is not None or step.retries is not None
    attempts = {"attempts": item.attempts} if repeated else {}
    return item.scope.inner({step.register: {**(item.values or {}), **attempts}})


def note_success(values: dict[str, Any], looped: bool) -> None:
    """A registered result says that it did not fail; of a loop, each item does that ran."""
    for result in values["results"] if looped else [values]:
        if not looped or not result.get("skipped"):
            result.setdefault("failed", False)


def with_exceptions(values: dict[str, Any], looped: bool) -> dict[str, Any]:
    """The registered values, where what failed has an `exception`."""
    if looped:
        results = [with_exceptions(result, False) for result in values["results"]]
        return {**values, "results": results} if values.get("failed") else values
    return {"exception": NO_TRACEBACK, **values} if values.get("failed") else values
