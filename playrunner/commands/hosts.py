"""hosts: recording host keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import INVENTORY_FLAGS, options_from, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(
    flags=INVENTORY_FLAGS,
    positional=["host"],
    help={"host": "a host of the inventory", "yes": "record the key without asking"},
)
def trust(context: Context, host: str, flags: dict[str, Any], yes: bool = False) -> int:
    """Show a host's key and, once you have compared it, add it to known_hosts."""
    from playrunner.ssh.keys.trust import trust_host
    from playrunner.variables.asked_inventory import open_inventory

    outcome = trust_host(open_inventory(options_from(flags)), host, yes)
    if flags["json"]:
        print_json(outcome)
    return 0
