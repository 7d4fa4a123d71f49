"""ansible_failed_task: what `rescue` and later steps can read about the step that failed."""

from __future__ import annotations

from typing import Any

from playrunner.errors import PlayrunnerError
from playrunner.playbook.module_index import module_class
from playrunner.run.inflight import InFlightStep
from playrunner.text.written import is_template


def failed_task(inflight: InFlightStep) -> dict[str, Any]:
    """The step as data: its name as it was shown, its module and its keywords."""
    step, keywords = inflight.step, inflight.step.keywords
    return {
        "name": _name(inflight),
        "action": step.action or step.module.rpartition(".")[2],
        "args": _arguments(inflight),
        "tags": sorted(keywords.tags),
        "register": step.register,
        "ignore_errors": inflight.ignored,
        "delegate_to": inflight.delegated_to or None,
        "no_log": inflight.hidden,
    }


def _arguments(inflight: InFlightStep) -> dict[str, Any]:
    """The arguments that were sent, unless no_log hides them."""
    request = inflight.items[-1].agent_request if inflight.items else None
    if inflight.hidden or request is None:
        return {}
    line = module_class(inflight.step.module).free_form
    return {
        "_raw_params" if name == line else name: value
        for name, value in request.request["args"].items()
    }


def _name(inflight: InFlightStep) -> str:
    name = inflight.step.name
    if not is_template(name) or inflight.hidden:
        return name
    scope = inflight.items[0].scope if inflight.items else None
    try:
        return str(scope.run_vars.templar.render(name, scope)) if scope else name
    except PlayrunnerError:
        return name
