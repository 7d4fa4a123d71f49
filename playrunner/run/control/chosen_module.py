"""Steps whose module is named by a template: `action: "{{ package_module }} name=git"`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from playrunner.errors import BadArgument, BadInput, PlayrunnerError, UndefinedVariable
from playrunner.model import Step
from playrunner.playbook import external_modules, module_index
from playrunner.playbook.step_arguments import step_with_module
from playrunner.playbook.task_module import action_words
from playrunner.variables.scope import Scope

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")  # no path, no collection


def with_chosen_module(step: Step, scope: Scope) -> Step:
    """The step with the module that its template names; if there is none, the step fails when its
    condition holds."""
    kept: Any = step.arguments
    traced = scope.traced()
    try:
        name = scope.run_vars.templar.render(action_words(kept["task"][kept["word"]])[0], traced)
        if traced.foreign:
            _check_named_by_host(str(name), traced.foreign[0], step)
        return step_with_module(step, str(name))
    except PlayrunnerError as error:
        return replace(step, name=step.name or step.action, refusal=_text_of(error, step))


def _check_named_by_host(name: str, variable: str, step: Step) -> None:
    """A host may choose among the modules that run on it and read no file of this machine."""
    module = module_index.canonical(name) if _PLAIN_NAME.fullmatch(name) else None
    if module is None or not _acts_on_host_alone(module):
        raise BadInput(
            f'the module of this step is named by "{variable}", which no playbook or inventory'
            f" wrote, and {name!r:.80} does not only act on the host; write its name",
            step.place,
        )


def _acts_on_host_alone(module: str) -> bool:
    if external_modules.is_external(module) or not module_index.runs_on_host(module):
        return False
    cls = module_index.module_class(module)
    return not cls.ships and not cls.renders


def _text_of(error: PlayrunnerError, step: Step) -> str:
    if isinstance(error, UndefinedVariable) and step.loop is not None:
        return f"{error}; the module of a looped step cannot depend on the item"
    return error.result if isinstance(error, BadArgument) else str(error)
