"""jumphost: a host to run every verb from, created in AWS or already existing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(flags=pick("inventory", "extra-vars", "json"))
def inventory(context: Context, flags: dict[str, Any]) -> int:
    """Print the inventory of the jump host, to use beside your own; --json adds its path."""
    from playrunner.jumphost.inventory_file import find_entry

    entry = find_entry(flags["inventory"], flags["extra_vars"])
    if flags["json"]:
        print_json({"file": str(entry.file), "host": entry.host, "inventory": entry.content})
    else:
        print(entry.file.read_text(), end="")
    return 0


@verb(
    flags=pick("inventory", "extra-vars"),
    help={"command": 'the command to run, as "invoke status" (default: an interactive shell)'},
)
def shell(context: Context, flags: dict[str, Any], command: str = "") -> int:
    """Open a shell on the jump host, or run one command in the project there."""
    from playrunner.jumphost.inventory_file import find_entry
    from playrunner.jumphost.login import log_in

    return log_in(find_entry(flags["inventory"], flags["extra_vars"]), command)
