"""RunVariables: what a run knows of its hosts, as the layers that variables are looked up in."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import NotYet
from playrunner.frozen import frozen, mutable
from playrunner.inventory.inventory import Inventory
from playrunner.model import Play, Position, Role
from playrunner.variables.fact_cache import FactCache
from playrunner.variables.template_scope import MISSING
from playrunner.variables.templating import Templar


class Omit:
    """The value of `omit`: an argument with this value is left out."""

    def __str__(self) -> str:
        return ""


OMIT = Omit()


@frozen
class _Write:
    """What a step stored: the names, and the values that those which were there had before."""

    position: Position
    names: Mapping[str, Any]
    before: Mapping[str, Any]


@mutable
class HostMemory:
    """What a run has learnt about one host; it lasts from play to play.

    Hosts do not wait for each other, so one that reads this memory may be behind: `at` shows what
    was known before the step it is at."""

    facts: dict[str, Any] = field(default_factory=dict)
    # From set_fact and register: data, never rendered again
    registered: dict[str, Any] = field(default_factory=dict)
    included: dict[str, Any] = field(default_factory=dict)  # include_vars
    _writes: dict[str, list[_Write]] = field(default_factory=dict)  # of this batch, by position
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def store(self, layer: str, values: Mapping[str, Any], position: Position) -> None:
        """Add what the step at this position gave."""
        current: dict[str, Any] = getattr(self, layer)
        before = {name: current[name] for name in values if name in current}
        self._note(layer, _Write(position, values, before))
        current.update(values)

    def clear_facts(self, position: Position) -> None:
        before = self.facts
        self._note("facts", _Write(position, before, before))
        self.facts = {}

    def at(self, layer: str, position: Position) -> Mapping[str, Any]:
        """A layer as it was before the step at this position."""
        # The values first: a write is noted before it is made, so none is missed.
        current: Mapping[str, Any] = getattr(self, layer)
        writes = self._writes.get(layer)
        if not writes or writes[-1].position < position:
            return current
        later = writes[bisect_left(writes, position, key=_position_of) :]
        return _Earlier(current, later)

    def start_batch(self) -> None:
        """Nothing runs now, so everything that is known is known to every host."""
        self._writes.clear()

    def _note(self, layer: str, write: _Write) -> None:
        with self._lock:
            insort(self._writes.setdefault(layer, []), write, key=_position_of)


class _Earlier(Mapping[str, Any]):
    """A layer without some of its latest writes."""

    def __init__(self, current: Mapping[str, Any], later: list[_Write]) -> None:
        self._current, self._later = current, later

    def __getitem__(self, name: str) -> Any:
        current = self._current.get(name, MISSING)
        write = next((write for write in self._later if name in write.names), None)
        value = write.before.get(name, MISSING) if write else current
        if value is MISSING:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys([*list(self._current), *(n for w in self._later for n in w.before)])
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _position_of(write: _Write) -> Position:
    return write.position


@mutable
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

    fact_cache: FactCache | None = None  # from run to run, where the configuration asks for it

    def start_batch(self) -> None:
        """Before hosts run a play: they see all that was learnt so far."""
        for memory in self.memories.values():
            memory.start_batch()

    def memory(self, host: str) -> HostMemory:
        memory = self.memories.get(host)
        if memory is None:  # setdefault alone would make one for each call
            facts = self.fact_cache.facts(host) if self.fact_cache else {}
            memory = self.memories.setdefault(host, HostMemory(facts))
        return memory

    def keep_facts(self, host: str) -> None:
        """Facts of the host were learnt or forgotten."""
        if not self.fact_cache:
            return
        if facts := self.memory(host).facts:
            self.fact_cache.keep(host, facts)
        else:
            self.fact_cache.forget([host])


@mutable
class PlayVariables:
    """The variables of a play and its roles, as layers."""

    play: Play
    settings: Mapping[str, Any]
    prompted: Mapping[str, Any] = field(default_factory=dict)
    role_vars: dict[str, Any] = field(default_factory=dict)
    role_defaults: dict[str, Any] = field(default_factory=dict)

    def add_role(self, role: Role) -> None:
        private = ansible_config().flag("private_role_vars")
        if private if role.public is None else not role.public:
            return
        self.role_vars.update(role.vars)
        self.role_defaults.update(role.defaults)


# The value of a variable that --check could not foresee.
UNKNOWN = object()


class UnknownValues(dict[str, Any]):
    """The result of a step that --check could not foresee: what it would have returned is not known
    yet."""

    def __missing__(self, name: str) -> Any:
        raise NotYet(f'"{name}" is only known once the step has run')
