"""RunVariables: what a run knows of its hosts, as the layers that variables are looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import NotYet
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play, Role
from playrunner.variables.templating import Templar


class Omit:
    """The value of `omit`: an argument with this value is left out."""

    def __str__(self) -> str:
        return ""


OMIT = Omit()


@dataclass
class HostMemory:
    """What a run has learnt about one host; it lasts from play to play."""

    facts: dict[str, Any] = field(default_factory=dict)
    # From set_fact and register: data, never rendered again
    registered: dict[str, Any] = field(default_factory=dict)
    included: dict[str, Any] = field(default_factory=dict)  # include_vars


@dataclass
class RunVariables:
    """What all hosts share: the inventory, --extra-vars, and the memory of every host."""

    inventory: Inventory
    templar: Templar
    extra: Mapping[str, Any]
    settings: Mapping[str, Any]  # magic variables that are the same everywhere
    memories: dict[str, HostMemory] = field(default_factory=dict)
    # Files of the controller that scopes have searched for, by what they searched
    files: dict[Any, Path] = field(default_factory=dict)
    # Whether mappings of one name are merged (hash_behaviour), and facts are variables too
    merges: bool = field(default_factory=lambda: ansible_config().text("hash_behaviour") == "merge")
    injects_facts: bool = field(
        default_factory=lambda: ansible_config().flag("inject_facts_as_vars", True)
    )

    def memory(self, host: str) -> HostMemory:
        return self.memories.setdefault(host, HostMemory())


@dataclass
class PlayVariables:
    """The variables of a play and its roles, as layers."""

    play: Play
    settings: Mapping[str, Any]
    prompted: Mapping[str, Any] = field(default_factory=dict)
    role_vars: dict[str, Any] = field(default_factory=dict)
    role_defaults: dict[str, Any] = field(default_factory=dict)

    def add_role(self, role: Role) -> None:
        if ansible_config().flag("private_role_vars"):
            return
        self.role_vars.update(role.vars)
        self.role_defaults.update(role.defaults)


class UnknownValues(dict[str, Any]):
    """The result of a step that --check could not foresee: what it would have returned is not known
    yet."""

    def __missing__(self, name: str) -> Any:
        raise NotYet(f'"{name}" is only known once the step has run')
