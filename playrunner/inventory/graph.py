"""The graph of groups and hosts, while it is read and while a run adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen, mutable
from playrunner.inventory.group_names import given_group_name
from playrunner.inventory.value import Value, Values

PRIORITY = "ansible_group_priority"


@mutable
class Group:
    """One group as written: its own hosts and children, and its variables in blocks, later ones
    over earlier."""

    name: str
    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    parents: dict[str, None] = field(default_factory=dict)
    blocks: list[Values] = field(default_factory=list)
    priority: int = 1


@mutable
class HostEntry:
    """One host as written: the groups that list it, its variables in blocks, and the source that
    named it first."""

    name: str
    source: Place | None = None
    groups: dict[str, None] = field(default_factory=dict)
    blocks: list[Values] = field(default_factory=list)


@frozen
class View:
    """What follows from the graph: who is in which group, and the order in which groups speak."""

    children: dict[str, tuple[str, ...]]
    own_hosts: dict[str, tuple[str, ...]]
    members: dict[str, tuple[str, ...]]
    host_groups: dict[str, tuple[str, ...]]


class Graph:
    """Hosts and groups by name, in the order they were first met."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.hosts: dict[str, HostEntry] = {}
        self.version = 0
        self.renamed: set[str] = set()  # groups whose names were made valid
        self.added: list[tuple[str, tuple[Any, ...]]] = []  # by a run: method and arguments
        self.add_group("all")
        self.add_group("ungrouped")
        self.add_child("all", "ungrouped", Place(""))

    def add_group(self, name: str) -> Group:
        name = self._named(name)
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = Group(name)
            self.version += 1
        return found

    def _named(self, name: str) -> str:
        named = given_group_name(name)
        if named != name:
            self.renamed.add(name)
        return named

    def add_host(self, name: str, group: str | None, source: Place) -> HostEntry:
        entry = self.hosts.get(name)
        if entry is None:
            entry = self.hosts[name] = HostEntry(name, source)
        if group is not None:
            joined = self.add_group(group)
            joined.hosts[name] = None
            entry.groups[joined.name] = None
        self.version += 1
        return entry

    def add_child(self, parent: str, child: str, place: Place) -> None:
        parent, child = self.add_group(parent).name, self._named(child)
        if child in self.groups[parent].children:
            return
        self.add_group(child)
        loop = self._path(child, parent)
        if loop:
            shown = " > ".join([parent, *loop])
            raise BadInput(
                f'group "{child}" cannot be a child of "{parent}": the groups form a loop'
                f" ({shown}); remove one of these children",
                place,
            )
        self.groups[parent].children[child] = None
        self.groups[child].parents[parent] = None
        self.version += 1

    def set_group_values(self, name: str, values: Values) -> None:
        group = self.add_group(name)
        priority = values.pop(PRIORITY, None)
        if priority is not None:
            group.priority = _whole_number(priority)
        if values:
            group.blocks.append(values)
        self.version += 1

    def set_host_values(self, name: str, values: Values) -> None:
        if values:
            self.hosts[name].blocks.append(values)
            self.version += 1

    def view(self) -> View:
        children = self._children()
        depths = self._depths(children)
        rank = {name: (depths[name], group.priority, name) for name, group in self.groups.items()}
        ancestors = self._ancestors(children)
        own_hosts = self._own_hosts()
        groups_of: dict[str, set[str]] = {name: {"all"} for name in self.hosts}
        for name, hosts in own_hosts.items():
            for host in hosts:
                groups_of[host] |= ancestors[name]
        # Hosts of one group combination share one tuple, so that what is computed from it is
        # computed once.
        orders: dict[frozenset[str], tuple[str, ...]] = {}
        host_groups: dict[str, tuple[str, ...]] = {}
        for host, names in groups_of.items():
            key = frozenset(names)
            if key not in orders:
                orders[key] = tuple(sorted(key, key=rank.__getitem__))
            host_groups[host] = orders[key]
        members = {name: _hosts_below(name, children, own_hosts) for name in self.groups}
        return View(children, own_hosts, members, host_groups)

    def _path(self, start: str, end: str) -> list[str]:
        """The groups from start down to end, or nothing when end is not below start."""
        came_from: dict[str, str] = {start: ""}
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name == end:
                path = [name]
                while came_from[path[-1]]:
                    path.append(came_from[path[-1]])
                return path[::-1]
            for child in self.groups[name].children:
                if child not in came_from:
                    came_from[child] = name
                    waiting.append(child)
        return []

    def _children(self) -> dict[str, tuple[str, ...]]:
        """Children by group; groups without a parent are children of `all`."""
        children = {name: tuple(group.children) for name, group in self.groups.items()}
        orphans = tuple(
            name for name, group in self.groups.items() if name != "all" and not group.parents
        )
        return {**children, "all": children["all"] + orphans}

    def _own_hosts(self) -> dict[str, tuple[str, ...]]:
        """Hosts listed by each group itself; `ungrouped` has exactly those that nothing but `all`
        lists."""
        loose = {
            name
            for name, entry in self.hosts.items()
            if not entry.groups.keys() - {"all", "ungrouped"}
        }
        written = [name for name in self.groups["ungrouped"].hosts if name in loose]
        rest = [
            name
            for name in self.hosts
            if name in loose and name not in self.groups["ungrouped"].hosts
        ]
        found = {name: tuple(group.hosts) for name, group in self.groups.items()}
        return {**found, "ungrouped": (*written, *rest)}

    def _depths(self, children: dict[str, tuple[str, ...]]) -> dict[str, int]:
        """The longest way from `all` down to each group."""
        depths = dict.fromkeys(self.groups, 0)
        for name in _parents_first(children):
            for child in children[name]:
                depths[child] = max(depths[child], depths[name] + 1)
        return depths

    def _ancestors(self, children: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
        """Each group with every group above it."""
        above: dict[str, set[str]] = {name: {name} for name in self.groups}
        for name in _parents_first(children):
            for child in children[name]:
                above[child] |= above[name]
        return above


def _parents_first(children: dict[str, tuple[str, ...]]) -> Iterator[str]:
    open_parents = dict.fromkeys(children, 0)
    for names in children.values():
        for name in names:
            open_parents[name] += 1
    ready = [name for name, count in open_parents.items() if count == 0]
    while ready:
        name = ready.pop()
        yield name
        for child in children[name]:
            open_parents[child] -= 1
            if open_parents[child] == 0:
                ready.append(child)


def _hosts_below(
    name: str, children: dict[str, tuple[str, ...]], own_hosts: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Hosts of a group and of the groups below it, level by level."""
    hosts: dict[str, None] = {}
    seen = {name}
    level = [name]
    while level:
        below: list[str] = []
        for group in level:
            hosts.update(dict.fromkeys(own_hosts[group]))
            for child in children[group]:
                if child not in seen:
                    seen.add(child)
                    below.append(child)
        level = below
    return tuple(hosts)


def _whole_number(value: Value) -> int:
    written: Any = value.value
    try:
        return int(written)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{PRIORITY} must be a whole number, not {written!r}", value.place) from None
