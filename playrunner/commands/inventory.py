"""inventory: an inventory's hosts, groups and variables, and which file and line set each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import INVENTORY_FLAGS, options_from, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(
    flags=INVENTORY_FLAGS,
    help={
        "graph": "draw groups and hosts as a tree",
        "host": "show one host's variables",
        "why": "show which file and line set this variable, and the values it overrides",
    },
)
def show(
    context: Context, flags: dict[str, Any], graph: bool = False, host: str = "", why: str = ""
) -> int:
    """Show an inventory's hosts, groups and variables."""
    from playrunner.commands import inventory_show as views
    from playrunner.variables.asked_inventory import open_inventory

    inventory = open_inventory(options_from(flags))
    if why:
        rows = views.why(inventory, host or None, why)
        print_json([views.why_data(row) for row in rows]) if flags["json"] else print(
            views.format_why(rows)
        )
    elif host:
        print_json(views.host_data(inventory, host))
    elif graph and not flags["json"]:
        print(views.as_graph(inventory))
    else:
        print_json(views.as_data(inventory))
    return 0
