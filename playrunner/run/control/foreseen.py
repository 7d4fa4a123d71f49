"""What later steps of a --check read of a step that it could not foresee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.model import Step
from playrunner.variables.host_memory import UNKNOWN, UnknownValues

if TYPE_CHECKING:
    from playrunner.run.inflight import InFlightStep


def later_values(inflight: InFlightStep, values: dict[str, Any]) -> dict[str, Any]:
    """What `register` gets; the values of a resource that does not exist (because of --check, or
    because it is already deleted) are unknown."""
    if not inflight.done:
        return UnknownValues(values) if values.get("unknown") else values
    if inflight.looped:
        return {
            **values,
            "results": [
                UnknownValues(result) if _is_open(result) else result
                for result in values["results"]
            ],
        }
    return UnknownValues(values) if _is_open(values) else values


def unknown_facts(step: Step, values: dict[str, Any]) -> dict[str, Any]:
    """The variables that `set_fact` would have set; their earlier values would be guesses."""
    if step.module != "play.set_fact" or not values.get("unknown"):
        return {}
    return {name: UNKNOWN for name in step.arguments if name != "cacheable"}


def _is_open(values: dict[str, Any]) -> bool:
    return bool(values.get("unknown") or values.get("foreseen") or values.get("absent"))
