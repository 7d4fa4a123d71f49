"""What a result goes through: changed_when, failed_when, until, and which facts are kept."""

from __future__ import annotations

from playrunner.errors import PlayrunnerError
from playrunner.playbook import module_index
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.variables.origins import without_settings
from playrunner.variables.scope import Scope

_WITHOUT_CONDITIONS = ("skipped", "unreachable", "unknown", "passed")
# Where the facts of modules go whose values the playbook's author wrote
AUTHORED_LAYERS = {"play.set_fact": "registered", "play.include_vars": "included"}


def apply_result_conditions(inflight: InFlightStep, item: LoopItem) -> None:
    """Apply `changed_when` and `failed_when`, once."""
    step, values = inflight.step, item.values
    if (
        item.conditions_applied
        or values is None
        or any(values.get(word) for word in _WITHOUT_CONDITIONS)
    ):
        return
    item.conditions_applied = True
    if step.changed_when is None and step.failed_when is None:
        return
    scope = _with_result(inflight, item)
    try:
        if step.changed_when is not None:
            values["changed"] = scope.run_vars.templar.truth(step.changed_when, scope)
        if step.failed_when is not None:
            values["failed"] = values["failed_when_result"] = scope.run_vars.templar.truth(
                step.failed_when, scope
            )
    except PlayrunnerError as error:
        values.update(failed=True, msg=str(error))


def satisfied(inflight: InFlightStep, item: LoopItem) -> bool:
    """Whether `until` holds; with `retries` alone, whether the step succeeded."""
    assert item.values is not None
    if any(item.values.get(word) for word in _WITHOUT_CONDITIONS):
        return True
    apply_result_conditions(inflight, item)
    if inflight.step.until is None:
        return not item.values.get("failed")
    scope = _with_result(inflight, item)
    try:
        return scope.run_vars.templar.truth(inflight.step.until, scope)
    except PlayrunnerError as error:
        item.values.update(failed=True, msg=str(error))
        return False


def _with_result(inflight: InFlightStep, item: LoopItem) -> Scope:
    return (
        item.scope.inner({inflight.step.register: item.values})
        if inflight.step.register
        else item.scope
    )


def filter_facts(inflight: InFlightStep, item: LoopItem, host: str) -> None:
    """Give facts their `ansible_` prefix, and drop those that are settings of the runner or of
    a connection."""
    facts = (item.values or {}).get("ansible_facts")
    if not item.values or not isinstance(facts, dict) or inflight.step.module in AUTHORED_LAYERS:
        return
    if module_index.runs_on_host(inflight.step.module):
        facts = {
            name if name.startswith("ansible_") else f"ansible_{name}": value
            for name, value in facts.items()
        }
    item.values["ansible_facts"], refused = without_settings(facts)
    if refused:
        warnings = item.values.get("warnings")
        shown = f"{', '.join(refused[:5])}{', ...' if len(refused) > 5 else ''}"
        item.values["warnings"] = [
            *(warnings if isinstance(warnings, list) else ()),
            (
                f"ignored facts of {inflight.delegated_to or host}: they name settings"
                f" that only a playbook or an inventory may set: {shown}"
            ),
        ]
