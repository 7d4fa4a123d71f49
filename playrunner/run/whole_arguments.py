"""Arguments that a step takes from a template as a whole: `add_host: "{{ host }}"`,
`args: "{{ options }}"`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.model import Step
from playrunner.playbook import arguments, module_index
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import Scope


def with_whole_arguments(step: Step, scope: Scope) -> Step:
    """The step with the arguments that its templates give; its own come first."""
    merged: dict[str, Any] = {}
    for text in step.whole:
        traced = scope.traced()
        value = scope.run_vars.templar.render(text, traced)
        if value is OMIT or value is None:
            continue
        if traced.foreign:
            raise BadInput(
                f'all arguments of this step are made of "{traced.foreign[0]}", which no playbook'
                " or inventory wrote: a host could name files of this machine; write the arguments"
                " one by one",
                step.place,
            )
        if not isinstance(value, dict):
            raise StepFailed(f"the arguments must be a mapping, not {type(value).__name__}")
        merged.update(value)
    merged.update(step.arguments)
    cls = module_index.module_class(step.module)
    if not cls.takes_any:
        merged = arguments.checked_names(cls, merged, step.module, step.place)
    return replace(step, arguments=merged, whole=())
