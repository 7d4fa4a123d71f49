"""Whether a play starts with gathering the facts of a host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import StepFailed
from playrunner.model import Keywords, Play, Position, Step
from playrunner.playbook.step_arguments import checked_arguments
from playrunner.run.host_scopes import HostScopes
from playrunner.variables.fact_cache import is_gathered
from playrunner.variables.host_memory import HostMemory
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING


def gathers_facts(
    play: Play, memory: HostMemory, flag: Callable[[Any, Scope], bool], scopes: HostScopes
) -> bool:
    """As the play says; else as the configuration says, where `smart` is once for each host."""
    if play.gather_facts is not None:
        return flag(play.gather_facts, scopes.of_play())
    gathering = ansible_config().text("gathering", "implicit")
    return gathering == "implicit" or (gathering == "smart" and not is_gathered(memory.facts))


def gathering_step(play: Play, position: Position) -> Step:
    subset = {"gather_subset": play.gather_subset} if play.gather_subset else {}
    keywords = Keywords(tags=frozenset({"always"})).under(play.keywords)
    title, module = "Gathering Facts", "host.setup"
    defaults = keywords.module_defaults
    values, _ = checked_arguments(subset, module, defaults, title, play.place)
    return Step(title, module, values, play.place, keywords, position, implicit=True)


def refuse_other_modules(step: Step, scope: Scope) -> None:
    """gather_facts runs `setup` alone: others that Ansible would run with it are named, not left
    out."""
    if not step.implicit and not step.action.endswith("gather_facts"):
        return
    given = scope.lookup("ansible_facts_modules")
    given = () if given is MISSING or given is None else given
    names = given.split(",") if isinstance(given, str) else given
    for name in (str(name).strip().removeprefix("ansible.builtin.") for name in names):
        if name.removeprefix("ansible.legacy.") not in ("setup", "smart"):
            raise StepFailed(
                f"ansible_facts_modules names {name}, and only setup gathers facts by itself; make"
                f" {name} a task of its own"
            )
