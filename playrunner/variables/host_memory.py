"""World: what a run knows of its hosts, as the layers that variables are looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playrunner.errors import NotYet
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play, Role
from playrunner.variables.templating import Templar


class Omit:
    """What `omit` stands for: an argument with this value is left out."""

    def __str__(self) -> str:
        return ""


OMIT = Omit()


@dataclass
class Memory:
    """What a run has learnt about one host; it lasts from play to play."""

    facts: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(
        default_factory=dict
    )  # set_fact and register: data, never rendered again
    included: dict[str, Any] = field(default_factory=dict)  # include_vars


@dataclass
class World:
    """What all hosts share: the inventory, the command line's variables, and every host's memory."""

    inventory: Inventory
    templar: Templar
    extra: Mapping[str, Any]
    settings: Mapping[str, Any]  # magic variables that are the same everywhere
    memories: dict[str, Memory] = field(default_factory=dict)
    files: dict[Any, Path] = field(
        default_factory=dict
    )  # files of the controller that were looked for and found

    def memory(self, host: str) -> Memory:
        return self.memories.setdefault(host, Memory())


@dataclass
class PlayVariables:
    """The layers a play brings; `files` are its vars_files, read for each host."""

    play: Play
    settings: Mapping[str, Any]
    prompted: Mapping[str, Any] = field(default_factory=dict)
    role_vars: dict[str, Any] = field(default_factory=dict)
    role_defaults: dict[str, Any] = field(default_factory=dict)

    def add_role(self, role: Role) -> None:
        self.role_vars.update(role.vars)
        self.role_defaults.update(role.defaults)


class UnknownValues(dict[str, Any]):
    """The result of a step that --check could not foresee: what it would have returned is not known
    yet."""

    def __missing__(self, name: str) -> Any:
        raise NotYet(f'"{name}" is only known once the step has run')
