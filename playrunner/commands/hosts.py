"""hosts: reaching hosts, and trusting their keys."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import INVENTORY_FLAGS, verb
from playrunner.output.json_output import print_json


@verb(
    flags=INVENTORY_FLAGS,
    positional=["host"],
    help={"host": "a host of the inventory", "yes": "record without asking"},
)
def trust(context: Any, host: str, flags: dict[str, Any], yes: bool = False) -> int:
    """Show a host's key and, once you have compared it, record it in known_hosts."""
    from playrunner.options import Options
    from playrunner.run.run import open_inventory
    from playrunner.ssh.trust import trust_host

    outcome = trust_host(open_inventory(Options(inventory=tuple(flags["inventory"]))), host, yes)
    if flags["json"]:
        print_json(outcome)
    return 0
