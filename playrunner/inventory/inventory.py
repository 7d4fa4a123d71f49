"""Inventory: hosts, their groups, and their variables with the file and line of each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.errors import Place
from playrunner.frozen import frozen
from playrunner.inventory.graph import PRIORITY, Graph, View
from playrunner.inventory.group_vars import VarsDirectory
from playrunner.inventory.plugin_sources import SourceContext
from playrunner.inventory.sources import add_source, is_host_list
from playrunner.inventory.value import Value, Values, add_values, values_of
from playrunner.text.written import authored

__all__ = ["LOCALHOST_NAMES", "Host", "Inventory", "Value", "read_inventory"]

# Variables of `all` that count only where no source has them, whatever the order of sources
DEFAULTS = "playrunner_inventory_defaults"
LOCALHOST_NAMES = ("localhost", "127.0.0.1", "::1")

Layers = list[tuple[str, Mapping[str, Value]]]


@frozen
class Host:
    """A host and its groups: `all` first, then from the outermost group to the innermost."""

    name: str
    groups: tuple[str, ...]
    source: Place | None = None

    @property
    def group_names(self) -> list[str]:
        """What playbooks see as `group_names`: sorted, without `all`."""
        return sorted(name for name in self.groups if name != "all")


class Inventory:
    """Hosts and groups by name. A run may add to it; inventories made by `with_adjacent` share what
    was added."""

    def __init__(
        self,
        graph: Graph,
        files: Sequence[Path],
        beside_inventory: Sequence[VarsDirectory],
        beside_playbook: VarsDirectory | None = None,
        lock: threading.RLock | None = None,
        sources: Sequence[str] = (),
    ) -> None:
        self.files = tuple(files)
        self.sources = tuple(
            sources
        )  # as they were named, for commands that a message tells the user to type
        self.directory = (beside_inventory[0].directory if beside_inventory else Path()).absolute()
        self._graph = graph
        self._beside_inventory, self._beside_playbook = tuple(beside_inventory), beside_playbook
        self._lock = lock or threading.RLock()
        self._view: View | None = None
        self._version = -1
        self._hosts: dict[str, Host] = {}
        self._variables: dict[str, Values] = {}
        self._by_groups: dict[tuple[str, ...], tuple[Layers, Values]] = {}

    @property
    def hosts(self) -> dict[str, Host]:
        """Every host, in inventory order."""
        with self._lock:
            self._current()
            return self._hosts

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Host names by group, those of child groups included."""
        return self.view().members

    @property
    def renamed_groups(self) -> frozenset[str]:
        """Groups whose names were made valid, as they were written."""
        return frozenset(self._graph.renamed)

    def host(self, name: str) -> Host:
        """A host by name; one that is not listed (localhost, a delegate) is in no group."""
        return self.hosts.get(name) or Host(name, ())

    def variables(self, host: str) -> Mapping[str, Value]:
        """The variables of a host, each with the value that wins."""
        known = self._variables.get(host)
        # Without the lock, which each step of each host would otherwise hand over
        if known is not None and self._version == self._graph.version:
            return known
        with self._lock:
            self._current()
            variables = self._variables.get(host)
            if variables is None:
                _, merged = self._group_layers(self._groups_of(host))
                variables = dict(merged)
                for _, values in self._host_layers(host):
                    add_values(variables, values)
                self._variables[host] = variables
            return variables

    def layers(self, host: str) -> Layers:
        """All variables of a host in layers, each overriding those before it."""
        with self._lock:
            self._current()
            layers, _ = self._group_layers(self._groups_of(host))
            return [*layers, *self._host_layers(host)]

    def own_variables(self, host: str) -> Values:
        """The variables that a host has itself, without those of its groups."""
        with self._lock:
            self._current()
            merged: Values = {}
            for _, values in self._host_layers(host):
                add_values(merged, values)
            return merged

    def group_variables(self, name: str) -> Values:
        """The variables that a group has itself, with its priority where that is not 1."""
        with self._lock:
            group, merged = self._graph.groups[name], Values()
            for block in group.blocks:
                add_values(merged, block)
            for beside in self._directories():
                for _, values in beside.group_vars.layers(name):
                    add_values(merged, values)
            if group.priority != 1:
                merged[PRIORITY] = Value(group.priority, Place(""), f"group {name}")
            return merged

    def with_adjacent(self, directory: Path) -> Inventory:
        """This inventory, with the group_vars/ and host_vars/ beside a playbook added."""
        beside_playbook = None
        # Beside the last inventory folder the same files would only be read twice.
        if (
            not self._beside_inventory
            or self._beside_inventory[-1].directory.absolute() != directory.absolute()
        ):
            beside_playbook = VarsDirectory(directory, "playbook ")
        return Inventory(
            self._graph,
            self.files,
            self._beside_inventory,
            beside_playbook,
            self._lock,
            self.sources,
        )

    def set_defaults(self, variables: Mapping[str, Any], place: Place) -> None:
        """Give all hosts variables that any other variable of the inventory overrides."""
        with self._lock:
            values = values_of(authored(dict(variables)), "group all", place)
            self._graph.groups["all"].blocks.insert(0, values)
            self._graph.version += 1

    def add_again(self, earlier: Inventory) -> None:
        """Add what a run added to an earlier reading of the same sources; a host that they no
        longer have gets no group."""
        for method, arguments in earlier._graph.added:
            if method == "add_host" or arguments[0] in self.hosts:
                getattr(self, method)(*arguments)

    def add_host(self, name: str, groups: Sequence[str], variables: Mapping[str, Any]) -> None:
        """Add a host during a run, or more groups and variables to an existing one."""
        with self._lock:
            self._graph.added.append(("add_host", (name, groups, variables)))
            source = Place("add_host")
            self._graph.add_host(name, None, source)
            for group in groups:
                self._graph.add_host(name, group, source)
            self._graph.set_host_values(name, values_of(variables, f"host {name}", source))

    def add_to_group(self, host: str, group: str, parents: Sequence[str] = ("all",)) -> None:
        """Put a host into a group during a run; the group is created if it does not exist."""
        with self._lock:
            self._graph.added.append(("add_to_group", (host, group, parents)))
            place = Place("group_by")
            self._graph.add_host(host, group, place)
            for parent in parents:
                if parent != "all":
                    self._graph.add_child(parent, group, place)

    def view(self) -> View:
        """Groups with their children and own hosts, at this moment."""
        with self._lock:
            return self._current()

    def _current(self) -> View:
        """The current graph; drops what was computed from an older one."""
        if self._view is None or self._version != self._graph.version:
            version = self._graph.version
            view = self._view = self._graph.view()
            self._hosts = {
                name: Host(name, view.host_groups[name], self._graph.hosts[name].source)
                for name in view.members["all"]
            }
            self._variables, self._by_groups = {}, {}
            self._version = version  # last: `variables` looks at it without the lock
        return self._view

    def _groups_of(self, host: str) -> tuple[str, ...]:
        # Variables of `all` also hold for localhost and delegates, although they are not members.
        return self._current().host_groups.get(host, ("all",))

    def _group_layers(self, groups: tuple[str, ...]) -> tuple[Layers, Values]:
        """Layers and merged values of a set of groups, shared by all hosts in exactly these."""
        combined = self._by_groups.get(groups)
        if combined is None:
            inner = tuple(name for name in groups if name != "all")
            layers: Layers = [
                (f"group {name}", block)
                for name in ("all", *inner)
                for block in self._graph.groups[name].blocks
            ]
            for names in (("all",), inner):
                for beside in self._directories():
                    layers += [layer for name in names for layer in beside.group_vars.layers(name)]
            merged: Values = {}
            for _, values in layers:
                add_values(merged, values)
            combined = self._by_groups[groups] = (layers, merged)
        return combined

    def _host_layers(self, host: str) -> Layers:
        entry = self._graph.hosts.get(host)
        layer = f"host {host}"
        blocks = (
            entry.blocks if entry else [_implicit_localhost()] if host == LOCALHOST_NAMES[0] else []
        )
        layers: Layers = [(layer, block) for block in blocks]
        for beside in self._directories():
            layers += beside.host_vars.layers(host)
        return layers

    def _directories(self) -> tuple[VarsDirectory, ...]:
        return (
            (*self._beside_inventory, self._beside_playbook)
            if self._beside_playbook
            else self._beside_inventory
        )


def read_inventory(
    sources: Sequence[str | Path], extra_vars: Callable[[], Mapping[str, Any]] = dict
) -> Inventory:
    """Files, folders, executable scripts or lists such as "node1,node2,", merged in order.
    `extra_vars` is asked by plugins whose file says `use_extra_vars`."""
    graph, context = Graph(), SourceContext(extra_vars=extra_vars)
    files: list[Path] = []
    directories: dict[Path, None] = {}
    for source in sources:
        files += add_source(source, graph, context)
        if not is_host_list(source):
            path = Path(source)
            directory = path if path.is_dir() else path.parent
            # A folder that is named twice counts at its last position.
            directories.pop(directory, None)
            directories[directory] = None
    everyone = graph.groups["all"]
    for block in list(everyone.blocks):
        if (weakest := block.get(DEFAULTS)) and isinstance(weakest.value, Mapping):
            everyone.blocks.insert(0, values_of(weakest.value, weakest.layer, weakest.place))
    return Inventory(
        graph,
        files,
        [VarsDirectory(directory) for directory in directories],
        sources=[str(source) for source in sources],
    )


def _implicit_localhost() -> Values:
    import sys

    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    return values_of(authored(variables), "host localhost", Place("implicit localhost"))
