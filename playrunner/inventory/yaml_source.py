"""Inventories written in YAML (or JSON): groups with `hosts`, `children` and `vars`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.graph import Graph
from playrunner.inventory.plugin_sources import PluginSource, SourceContext, add_plugin_source
from playrunner.inventory.ranges import expand
from playrunner.inventory.value import Value, values_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import Located

GROUP_KEYS = ("hosts", "children", "vars")


def add_yaml(data: Any, file: str, graph: Graph, context: SourceContext) -> None:
    """Put a parsed YAML inventory into the graph."""
    if data is None:
        return
    if not isinstance(data, Located):
        raise BadInput(
            f"an inventory is a mapping of groups, not {_kind(data)}; start it with `all:` and"
            " below it `hosts:`",
            Place(file, 1),
        )
    if isinstance(data.get("plugin"), str):
        add_plugin_source(PluginSource(data, Path(file), graph, context))
        return
    for name, body in data.items():
        _add_group(name, body, data.place(name), graph)


def _add_group(name: Any, body: Any, place: Place, graph: Graph) -> None:
    if not isinstance(name, str) or not name.strip():
        raise BadInput(f"group name {name!r} is not text; put it in quotes", place)
    graph.add_group(name)
    if body is None:
        return
    if not isinstance(body, Located):
        raise BadInput(
            f'group "{name}" must be a mapping with hosts, children or vars, not {_kind(body)}',
            place,
        )
    for key, section in body.items():
        if key not in GROUP_KEYS:
            remedy = did_you_mean(str(key), GROUP_KEYS, "a group holds hosts, children and vars")
            raise BadInput(f'group "{name}" has an unknown key "{key}"{remedy}', body.place(key))
        entries = _entries(section, key, name, body.place(key))
        if key == "vars":
            graph.set_group_values(name, values_of(entries, f"group {name}", body.place(key)))
        elif key == "children":
            for child, child_body in entries.items():
                _add_group(child, child_body, entries.place(child), graph)
                graph.add_child(name, child, entries.place(child))
        else:
            for host, host_body in entries.items():
                _add_hosts(host, host_body, name, entries.place(host), graph)


def _entries(section: Any, key: str, group: str, place: Place) -> Located:
    """A section as a mapping; null is an empty one, a single name has no variables."""
    if isinstance(section, Located):
        return section
    entries = Located()
    entries.file, entries.line, entries.key_lines = place.file, place.line, {}
    if isinstance(section, str) and key != "vars":
        entries[section] = None
    elif section is not None:
        remedy = (
            "; write each name as a key, such as `node1:`"
            if key != "vars"
            else "; write each as `name: value`"
        )
        raise BadInput(
            f'{key} of group "{group}" must be a mapping, not {_kind(section)}{remedy}', place
        )
    return entries


def _add_hosts(written: Any, body: Any, group: str, place: Place, graph: Graph) -> None:
    if not isinstance(written, str):
        raise BadInput(f"host name {written!r} is not text; put it in quotes", place)
    if body is not None and body != "" and not isinstance(body, Located):
        raise BadInput(
            f'host "{written}" must have a mapping of variables or nothing, not {_kind(body)}',
            place,
        )
    names, port = expand(written, place)
    for name in names:
        graph.add_host(name, group, place)
        layer = f"host {name}"
        values = values_of(body, layer, place) if body else {}
        if port is not None:
            values.setdefault("ansible_port", Value(port, place, layer))
        graph.set_host_values(name, values)


def _kind(data: Any) -> str:
    if isinstance(data, dict):
        return "a mapping"
    return "a list" if isinstance(data, list) else f"{data!r}"[:60]
