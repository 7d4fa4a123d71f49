"""constructed: variables and groups made of the variables that earlier sources gave."""

from __future__ import annotations

from playrunner.inventory.group_vars import VarsDirectory
from playrunner.inventory.plugin_sources import PluginSource
from playrunner.inventory_plugins.construct import CONSTRUCTED_OPTIONS, constructor_of
from playrunner.inventory_plugins.host_scope import OWN_NAMES, HostScope, variables_of
from playrunner.inventory_plugins.plugin_options import PluginOptions


def add_hosts(source: PluginSource) -> None:
    """Add variables and groups to the hosts known so far; hosts of later sources are not seen."""
    options = PluginOptions(source.options, (*CONSTRUCTED_OPTIONS, "use_vars_plugins"))
    directories = (
        [VarsDirectory(folder) for folder in source.context.folders]
        if options.flag("use_vars_plugins")
        else []
    )

    def scope_of(host: str) -> HostScope:
        variables = variables_of(source.graph, host, directories)
        return HostScope(variables, source.path.absolute().parent, OWN_NAMES)

    constructor = constructor_of(options, source)
    for host in list(source.graph.hosts):
        constructor.compose(host, scope_of(host))
        constructor.add_to_groups(host, scope_of(host))
