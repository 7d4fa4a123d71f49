"""Scope: the variables that a step sees, and which definition of a name wins.

From weakest to strongest: role defaults, inventory (groups, then the host), facts, the play's vars,
vars_files, the role's vars, block and task vars, include_vars, set_fact and register, role and
include parameters, --extra-vars. The names the runner itself defines (inventory_hostname, groups,
hostvars, ...) and a loop's own variables cannot be overridden.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, NotYet, Place, StepFailed
from playrunner.model import Position, Step
from playrunner.text.merging import merged_all
from playrunner.text.written import Plain, TemplateText, is_authored
from playrunner.variables.host_memory import UNKNOWN, PlayVariables, RunVariables
from playrunner.variables.implied import IMPLIED, implied_value
from playrunner.variables.layers import InventoryLayer, Layer, collected
from playrunner.variables.magic import MAGIC_VARIABLES
from playrunner.variables.templating import MISSING
from playrunner.variables.waiter import Waiter


class Scope:
    """All variables as one step on one host sees them, each looked up and rendered when it is first
    read."""

    def __init__(
        self,
        run_vars: RunVariables,
        host: str,
        play: PlayVariables | None = None,
        step: Step | None = None,
        *,
        local: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        files: Mapping[str, Any] | None = None,
        waiter: Waiter | None = None,
        seen_by: Scope | None = None,
    ) -> None:
        self.run_vars: RunVariables = run_vars
        self.host: str = host
        self.play: PlayVariables | None = play
        self.step: Step | None = step
        self.local = local or {}
        self.params = params or {}
        self.files = files or {}
        self.waiter = waiter
        self.seen_by = seen_by  # the scope of the host that reads these variables of another
        self._seen: dict[str, Any] = {}
        self._rendering: list[str] = []
        self._collected: list[Layer] | None = None

    def inner(self, local: Mapping[str, Any], step: Step | None = None) -> Scope:
        """The same, with names of a loop or a result added."""
        made = Scope(
            self.run_vars,
            self.host,
            self.play,
            step or self.step,
            local={**self.local, **local},
            params=self.params,
            files=self.files,
            waiter=self.waiter,
            seen_by=self.seen_by,
        )
        # The items of a loop run one after the other, and one may change what the next reads
        if step is None and self.step and self.step.loop is None:
            made._collected = self._collected
        return made

    def beside(self, host: str) -> Scope:
        """The variables of another host, once it has come as far as this one."""
        reader = self.seen_by or self
        if host == reader.host:
            return Scope(self.run_vars, host, waiter=reader.waiter)
        if reader.waiter:
            reader.waiter.wait_for_host(host)
        return Scope(self.run_vars, host, seen_by=reader)

    def traced(self) -> TracedScope:
        """The same, noting which names were read that the author did not write."""
        return TracedScope(self, [])

    # Called by templates.

    def lookup(self, name: str) -> Any:
        value = self.given(name)
        return implied_value(self, name) if value is MISSING and name in IMPLIED else value

    def given(self, name: str) -> Any:
        """The value of a variable that somebody set; MISSING where there is none."""
        if name in self._seen:
            return self._seen[name]
        raw, is_data = self._raw(name)
        if raw is MISSING or is_data or not contains_template(raw):
            value = raw
        else:
            if name in self._rendering:
                circle = " -> ".join([*self._rendering[self._rendering.index(name) :], name])
                raise StepFailed(f'the variable "{name}" is defined by itself: {circle}')
            self._rendering.append(name)
            try:
                value = self.run_vars.templar.render_variable(raw, self)
            except BadInput as error:
                raise error if error.place else BadInput(error.message, self.origin(name)) from None
            finally:
                self._rendering.pop()
        if value is not MISSING:
            self._seen[name] = value
        return value

    def may_define(self, name: str) -> bool:
        """False where no layer has the name; costs less than a lookup, and most settings of a step
        are nowhere."""
        if (
            name in self.local
            or name in MAGIC_VARIABLES
            or name in self.run_vars.settings
            or (self.play and name in self.play.settings)
        ):
            return True
        if self.waiter:
            self.waiter.wait_for(name)
        for layer, _ in self._layers():  # noqa: SIM110  a generator would cost as much as a lookup
            if name in layer:
                return True
        return False

    def origin(self, name: str) -> Place | None:
        """The file and line that gave a variable, when it is the inventory's value that wins."""
        layer = next((layer for layer, *_ in self._layers() if name in layer), None)
        return layer.place(name) if isinstance(layer, InventoryLayer) else None

    def names(self) -> Iterator[str]:
        seen: set[str] = set()
        for layer, _ in self._layers():
            for name in list(layer):  # steps that are on their way register results meanwhile
                if name not in seen:
                    seen.add(name)
                    yield name
        yield from (name for name in self._magic_names() if name not in seen)

    def wait_for_steps(self) -> None:
        if self.waiter:
            self.waiter.wait_for_steps()
            self.waiter.wait_for_files()

    def find(self, path: str, folder: str) -> Path:
        """A file on the controller, looked for in the role, beside the task file, and beside the
        playbook."""
        if self.waiter:
            self.waiter.wait_for_files()
        wanted = Path(os.path.expanduser(path))
        if wanted.is_absolute():
            if not os.path.exists(wanted):  # takes any text, even too long or with a NUL
                raise BadInput(f'there is no file "{wanted}" on this machine')
            return wanted
        key = (
            path,
            folder,
            self.step.role.path if self.step and self.step.role else None,
            self.step.directory if self.step else None,
            self.play.play.directory if self.play else None,
        )
        known = self.run_vars.files.get(key)
        if known and os.path.exists(known):
            return known
        tried = [place / wanted for place in self.search_path(folder)]
        for candidate in tried:
            if os.path.exists(candidate):
                self.run_vars.files[key] = candidate
                return candidate
        raise BadInput(f'there is no file "{path}"; looked for {", ".join(map(str, tried))}')

    def search_path(self, folder: str) -> list[Path]:
        bases: list[Path] = []
        if self.step:
            if self.step.role:
                bases.append(self.step.role.path)
            bases.append(self.step.directory)
        bases.append(self.play.play.directory if self.play else Path.cwd())
        whole = [base.absolute() for base in bases]  # what is found is looked for elsewhere again
        return list(dict.fromkeys(place for base in whole for place in (base / folder, base)))

    def memory(self, layer: str) -> Mapping[str, Any]:
        """What the run has learnt about this host; of another host, as much as it had when it was
        where the reader is now."""
        memory = self.run_vars.memory(self.host)
        position = self.seen_by._position() if self.seen_by else None
        if position is None:
            values: Mapping[str, Any] = getattr(memory, layer)
            return values
        return memory.at(layer, position)

    def _position(self) -> Position | None:
        if self.step:
            return self.step.position
        return self.waiter.position if self.waiter else None

    # Precedence.

    def _raw(self, name: str) -> tuple[Any, bool]:
        """The strongest value of a name as it was given, and whether it is data that must not be
        rendered."""
        if name in self.local:
            return self.local[name], True
        magic = self._magic(name)
        if magic is not MISSING:
            return magic, True
        if self.waiter:
            self.waiter.wait_for(name)
        found = self._in_layers(name)
        if found is None and self.waiter and self.waiter.wait_for_facts():
            found = self._in_layers(name)
        return found or (MISSING, True)

    def _in_layers(self, name: str) -> tuple[Any, bool] | None:
        for layer, is_data in self._layers():
            if name in layer:
                value = layer[name]
                if value is UNKNOWN:
                    raise NotYet(f'"{name}" is only known once the step has run that sets it')
                if self.run_vars.merges and isinstance(value, dict):
                    return self._merged(name), False
                return value, is_data
        return None

    def _merged(self, name: str) -> Any:
        return merged_all(layer[name] for layer, _ in self._layers() if name in layer)

    def _layers(self) -> list[Layer]:
        """The layers, strongest first; collected once, since a step looks up many names. Those of
        another host are collected each time: it goes on meanwhile."""
        if self._collected is None or self.seen_by:
            self._collected = collected(self)
        return self._collected

    # Magic variables.

    def _magic(self, name: str) -> Any:
        if name in MAGIC_VARIABLES:
            return MAGIC_VARIABLES[name](self)
        if self.play and name in self.play.settings:
            value = self.play.settings[name]
            if not callable(value):
                return value
            # Which hosts are still in the play is only known once they are as far as this one.
            if self.waiter:
                self.waiter.wait_for_all_hosts()
            return value(self._position())
        return self.run_vars.settings.get(name, MISSING)

    def _magic_names(self) -> Iterator[str]:
        yield from MAGIC_VARIABLES
        yield from self.run_vars.settings
        if self.play:
            yield from self.play.settings


class TracedScope(Scope):
    """A scope that notes each name it reads whose value no author wrote: results, facts, and what
    was made of them."""

    def __init__(self, scope: Scope, foreign: list[str]) -> None:
        scope._layers()  # collected for both
        self.__dict__.update(scope.__dict__)
        self._seen, self._rendering, self.foreign = {}, [], foreign

    def beside(self, host: str) -> TracedScope:
        return TracedScope(super().beside(host), self.foreign)

    def _raw(self, name: str) -> tuple[Any, bool]:
        raw, is_data = super()._raw(name)
        if not is_authored(raw) and (
            name in self.local or name not in self._magic_names() or name == "ansible_facts"
        ):
            self.foreign.append(name)
        return raw, is_data


def contains_template(value: Any) -> bool:
    if isinstance(value, str):
        return isinstance(value, TemplateText)
    if isinstance(value, Plain):
        return False
    if isinstance(value, dict):
        return any(
            contains_template(key) or contains_template(inner) for key, inner in value.items()
        )
    if isinstance(value, (list, tuple)):
        return any(contains_template(inner) for inner in value)
    return False
