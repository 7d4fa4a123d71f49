"""Judging a result: what changed_when, failed_when and until make of it."""

from __future__ import annotations

from playrunner.errors import PlayrunnerError
from playrunner.run.inflight import Flight, Turn
from playrunner.variables.scope import Scope

_NOT_JUDGED = ("skipped", "unreachable", "unknown", "passed")


def judge(flight: Flight, turn: Turn) -> None:
    """Apply `changed_when` and `failed_when`, once."""
    step, values = flight.step, turn.values
    if turn.judged or values is None or any(values.get(word) for word in _NOT_JUDGED):
        return
    turn.judged = True
    if step.changed_when is None and step.failed_when is None:
        return
    scope = _with_result(flight, turn)
    try:
        if step.changed_when is not None:
            values["changed"] = scope.world.templar.truth(step.changed_when, scope)
        if step.failed_when is not None:
            values["failed"] = values["failed_when_result"] = scope.world.templar.truth(
                step.failed_when, scope
            )
    except PlayrunnerError as error:
        values.update(failed=True, msg=str(error))


def satisfied(flight: Flight, turn: Turn) -> bool:
    """Whether the result is one that `until` waits for, or a success where only `retries` is given."""
    assert turn.values is not None
    if any(turn.values.get(word) for word in _NOT_JUDGED):
        return True
    judge(flight, turn)
    if flight.step.until is None:
        return not turn.values.get("failed")
    scope = _with_result(flight, turn)
    try:
        return scope.world.templar.truth(flight.step.until, scope)
    except PlayrunnerError as error:
        turn.values.update(failed=True, msg=str(error))
        return False


def _with_result(flight: Flight, turn: Turn) -> Scope:
    return (
        turn.scope.inner({flight.step.register: turn.values})
        if flight.step.register
        else turn.scope
    )
