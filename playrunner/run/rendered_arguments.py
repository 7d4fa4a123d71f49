"""The arguments of a step with their templates rendered; a failure names the argument."""

from __future__ import annotations

from typing import Any

from playrunner.errors import StepFailed, UndefinedVariable
from playrunner.hostside.module import Module
from playrunner.model import Step
from playrunner.run.external.external_request import without_omitted
from playrunner.text.written import TemplateText, authored
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope, contains_template


def rendered_arguments(step: Step, cls: type[Module], scope: Scope) -> dict[str, Any]:
    """The arguments that are given, without omitted ones."""
    render = _kept if cls.takes_any else scope.run_vars.templar.render
    values: dict[str, Any] = {}
    name = ""
    try:
        for name, value in step.arguments.items():
            # Most arguments are constants: a call for each of them on each host adds up
            if isinstance(value, (TemplateText, dict, list)):
                if name not in cls.raw:
                    value = render(value, scope, keys=name in cls.keyed)
                value = without_omitted(value)
            if value is not OMIT:
                values[name] = value
    except (UndefinedVariable, StepFailed) as error:
        shown = "_raw_params" if name == cls.free_form else name
        error.args = (f"Error while resolving value for '{shown}': {error}",)
        raise
    return values


def _kept(value: Any, scope: Scope, keys: bool) -> Any:
    """Render a value of set_fact; it counts as authored unless it read foreign values."""
    if not contains_template(value):
        return value
    traced = scope.traced()
    rendered = scope.run_vars.templar.render(value, traced, keys=keys)
    return rendered if traced.foreign else authored(rendered)
