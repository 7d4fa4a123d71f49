"""Inventories written in TOML: a table per group with `hosts`, `children` and `vars`."""

from __future__ import annotations

from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.graph import Graph
from playrunner.inventory.ranges import expand
from playrunner.inventory.value import Value, values_of
from playrunner.text.did_you_mean import did_you_mean
from playrunner.text.documents import refuse_control_characters
from playrunner.text.written import all_written

GROUP_KEYS = ("hosts", "children", "vars")


def add_toml(text: str, file: str, graph: Graph) -> None:
    """Put a TOML inventory into the graph."""
    import tomllib

    refuse_control_characters(text, file)
    place = Place(file)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"not valid TOML: {str(error)[:200]}", place) from None
    for name, body in data.items():
        if not isinstance(body, dict):
            raise BadInput(
                f'"{name}" stands outside a table; an inventory has tables such as [{name}.hosts]',
                place,
            )
        graph.add_group(name)
        for key, section in body.items():
            _add_section(name, key, section, place, graph)


def _add_section(group: str, key: str, section: Any, place: Place, graph: Graph) -> None:
    if key not in GROUP_KEYS:
        remedy = did_you_mean(key, GROUP_KEYS, "a group holds hosts, children and vars")
        raise BadInput(f'group "{group}" has an unknown key "{key}"{remedy}', place)
    if key == "children":
        if not isinstance(section, (list, dict)):
            raise BadInput(f'children of group "{group}" must be a list of names', place)
        for child in section:
            graph.add_child(group, str(child), place)
        return
    if not isinstance(section, dict):
        raise BadInput(f'{key} of group "{group}" must be a table, not {section!r:.60}', place)
    if key == "vars":
        graph.set_group_values(group, values_of(all_written(section), f"group {group}", place))
        return
    for written, variables in section.items():
        _add_hosts(group, written, variables, place, graph)


def _add_hosts(group: str, written: str, variables: Any, place: Place, graph: Graph) -> None:
    if not isinstance(variables, dict):
        raise BadInput(f'host "{written}" must have a table of variables: {written} = {{}}', place)
    names, port = expand(written, place)
    for name in names:
        graph.add_host(name, group, place)
        layer = f"host {name}"
        values = values_of(all_written(variables), layer, place)
        if port is not None:
            values.setdefault("ansible_port", Value(port, place, layer))
        graph.set_host_values(name, values)
