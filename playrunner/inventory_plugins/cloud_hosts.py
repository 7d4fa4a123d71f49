"""Hosts of a cloud in the graph: their variables, and the variables and groups made of those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.inventory.plugin_sources import PluginSource
from playrunner.inventory.value import values_of
from playrunner.inventory_plugins.construct import Constructor
from playrunner.inventory_plugins.host_scope import OWN_NAMES, HostScope, magic_variables
from playrunner.inventory_plugins.plugin_options import PluginOptions
from playrunner.variables.templating import default_templar

# Written in a file, options are rendered before use; expressions are evaluated host by host.
_EXPRESSIONS = ("compose", "groups", "keyed_groups", "hostnames")


def rendered_options(options: PluginOptions, source: PluginSource) -> PluginOptions:
    """The options with their templates rendered: a profile or a filter may come from a lookup."""
    scope = HostScope({}, source.path.absolute().parent)
    return options.changed(
        lambda name, value: value if name in _EXPRESSIONS else default_templar.render(value, scope)
    )


def add_cloud_host(
    name: str,
    group: str,
    variables: Mapping[str, Any],
    own_variables: Mapping[str, Any],
    constructor: Constructor,
    source: PluginSource,
) -> None:
    """Add a host. `variables` are what the API said: data, never templates. `own_variables` are the
    same under the names that the inventory gives them."""
    graph, place = source.graph, source.place()
    graph.add_host(name, group, place)
    graph.set_host_values(name, values_of(own_variables, f"host {name}", place))
    folder = source.path.absolute().parent
    constructor.compose(name, HostScope(variables, folder, OWN_NAMES))
    values = {
        key: value.value for block in graph.hosts[name].blocks for key, value in block.items()
    }
    known = {**variables, **values, **magic_variables(graph, name)}
    constructor.add_to_groups(name, HostScope(known, folder, OWN_NAMES))
