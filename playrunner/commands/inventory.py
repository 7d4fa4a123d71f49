"""inventory: what an inventory says, and which file and line said it."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import INVENTORY_FLAGS, verb
from playrunner.output.json_output import print_json


@verb(
    flags=INVENTORY_FLAGS,
    help={
        "graph": "draw groups and hosts as a tree",
        "host": "one host's variables",
        "why": "which file and line gave this variable, and which values it beat",
    },
)
def show(
    context: Any, flags: dict[str, Any], graph: bool = False, host: str = "", why: str = ""
) -> int:
    """Show an inventory's hosts, groups and variables."""
    from playrunner.commands import inventory_show as views
    from playrunner.options import Options
    from playrunner.run.run import open_inventory

    inventory = open_inventory(Options(inventory=tuple(flags["inventory"])))
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
