"""What a step's module and keywords imply for the order of steps: must its result be awaited, does
it run in the background, on one host for all?"""

from __future__ import annotations

from playrunner.model import Step
from playrunner.playbook import external_modules, module_index
from playrunner.variables.scope import Scope

# Metas that act on all hosts at once
META_FOR_ALL = frozenset(
    {"end_play", "end_batch", "clear_facts", "clear_host_errors", "refresh_inventory"}
)


def meta_action(step: Step) -> str:
    return str(step.arguments.get("action", "")).strip()


def is_awaited(step: Step) -> bool:
    """Whether the next step must not be sent before this one's result is known here."""
    if in_background(step):
        return False
    keywords, cls = step.keywords, module_index.module_class(step.module)
    on_controller = not module_index.runs_on_host(step.module) and not cls.in_memory
    paced = step.loop is not None and bool(step.loop.pause_seconds or step.loop.break_when)
    conditional = (
        step.failed_when is not None
        or step.until is not None
        or step.retries is not None
        or not (step.changed_when is None or isinstance(step.changed_when, bool))
    )
    if cls.plain_facts:  # no name tells that it is a fact, so none can be waited for by its name
        return True
    return bool(on_controller or paced or conditional or keywords.throttle or step.async_seconds)


def in_background(step: Step) -> bool:
    return module_index.module_class(step.module).in_background


def waits_for_all(step: Step) -> bool:
    if step.module == "play.meta":
        return meta_action(step) in META_FOR_ALL
    cls = module_index.module_class(step.module)
    return cls.reaches_out or cls.once_for_all


def once_for_all(step: Step) -> bool:
    return module_index.module_class(step.module).once_for_all


def gives_facts(step: Step) -> bool:
    if external_modules.is_external(step.module):
        return external_modules.gives_facts(step.module)
    if step.module == "play.set_fact":
        return "cacheable" in step.arguments
    return module_index.module_class(step.module).gives_facts


def condition_holds(step: Step, scope: Scope) -> bool:
    return all(scope.run_vars.templar.truth(condition, scope) for condition in step.keywords.when)
