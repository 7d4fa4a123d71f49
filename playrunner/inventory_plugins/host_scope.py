"""HostScope: the variables of a host while the inventory is still being read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, StepFailed
from playrunner.inventory.graph import Graph
from playrunner.inventory.group_vars import VarsDirectory
from playrunner.inventory.value import Values, add_values
from playrunner.text.written import is_authored
from playrunner.variables.host_memory import OMIT
from playrunner.variables.scope import contains_template
from playrunner.variables.templating import MISSING, default_templar


class HostScope:
    """Variables by name, rendered when they are read; `own_names` come from the program itself."""

    def __init__(
        self, variables: Mapping[str, Any], folder: Path, own_names: frozenset[str] = frozenset()
    ) -> None:
        self.variables, self.folder, self.own_names = variables, folder, own_names
        self._rendering: list[str] = []

    def lookup(self, name: str) -> Any:
        return self.given(name)

    def given(self, name: str) -> Any:
        value = self.variables.get(name, MISSING)
        if value is MISSING or not contains_template(value):
            return value
        if name in self._rendering:
            circle = " -> ".join([*self._rendering, name])
            raise StepFailed(f'the variable "{name}" is defined by itself: {circle}')
        self._rendering.append(name)
        try:
            return default_templar.render_variable(value, self)
        finally:
            self._rendering.pop()

    def names(self) -> Iterable[str]:
        return self.variables

    def wait_for_steps(self) -> None:
        """Nothing runs while an inventory is read."""

    def find(self, path: str, folder: str) -> Path:
        for place in self.search_path(folder):
            if os.path.exists(place / path):
                return place / path
        raise BadInput(f'there is no file "{path}" in {self.folder}')

    def search_path(self, folder: str) -> list[Path]:
        return [self.folder, self.folder / folder]

    def traced(self) -> TracedHostScope:
        return TracedHostScope(self.variables, self.folder, self.own_names)


class TracedHostScope(HostScope):
    """The same, noting the names it read whose values no author wrote."""

    def __init__(
        self, variables: Mapping[str, Any], folder: Path, own_names: frozenset[str]
    ) -> None:
        super().__init__(variables, folder, own_names)
        self.foreign: list[str] = []

    def given(self, name: str) -> Any:
        if name not in self.own_names and not is_authored(self.variables.get(name)):
            self.foreign.append(name)
        return super().given(name)


OWN_NAMES = frozenset(
    {
        "inventory_hostname",
        "inventory_hostname_short",
        "inventory_dir",
        "inventory_file",
        "group_names",
        "omit",
    }
)


def variables_of(graph: Graph, host: str, directories: Iterable[VarsDirectory]) -> dict[str, Any]:
    """The variables of a host by the sources read so far. A group is below `all` only where a
    source says so: groups without a parent get it when all sources are read."""
    depths = _depths_of_groups(graph, host)
    groups = sorted(depths, key=lambda name: (depths[name], graph.groups[name].priority, name))
    values: Values = {}
    for name in groups:
        for block in graph.groups[name].blocks:
            add_values(values, block)
    for directory in directories:
        for name in groups:
            for _, block in directory.group_vars.layers(name):
                add_values(values, block)
    entry = graph.hosts[host]
    for block in entry.blocks:
        add_values(values, block)
    for directory in directories:
        for _, block in directory.host_vars.layers(host):
            add_values(values, block)
    return {**{name: value.value for name, value in values.items()}, **magic_variables(graph, host)}


def magic_variables(graph: Graph, host: str) -> dict[str, Any]:
    """The variables of a host that no source gives."""
    source = graph.hosts[host].source
    file = Path(source.file).absolute() if source else Path()
    groups = _depths_of_groups(graph, host)
    return {
        "inventory_hostname": host,
        "inventory_hostname_short": host.partition(".")[0],
        "inventory_dir": str(file.parent),
        "inventory_file": str(file),
        "omit": OMIT,
        "group_names": sorted(name for name in groups if name != "all"),
    }


def _depths_of_groups(graph: Graph, host: str) -> dict[str, int]:
    """The groups that hold a host and those above them, with the longest way down to each."""
    known: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in known:
            known[name] = 0  # the graph has no loops
            known[name] = max(
                (depth(parent) + 1 for parent in graph.groups[name].parents), default=0
            )
        return known[name]

    for name in graph.hosts[host].groups:
        depth(name)
    return known
