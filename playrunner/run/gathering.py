"""Whether a play starts with gathering the facts of a host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.model import Play
from playrunner.run.host_scopes import HostScopes
from playrunner.variables.host_memory import HostMemory
from playrunner.variables.scope import Scope


def gathers_facts(
    play: Play, memory: HostMemory, flag: Callable[[Any, Scope], bool], scopes: HostScopes
) -> bool:
    """As the play says; else as the configuration says, where `smart` is once for each host."""
    if play.gather_facts is not None:
        return flag(play.gather_facts, scopes.of_play())
    gathering = ansible_config().text("gathering", "implicit")
    return gathering == "implicit" or (gathering == "smart" and not memory.facts)
