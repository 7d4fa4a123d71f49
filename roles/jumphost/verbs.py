"""jumphost: a host from which every verb can be run, made in AWS or there already."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import RUN_FLAGS, verb
from playrunner.output.json_output import print_json

_LOOK = {name: RUN_FLAGS[name] for name in ("inventory", "extra-vars", "json")}


@verb(flags=_LOOK)
def inventory(context: Any, flags: dict[str, Any]) -> int:
    """The inventory that names the jump host, to be given beside your own; --json also says where
    it is."""
    from playrunner.jumphost.inventory_file import find_entry

    entry = find_entry(flags["inventory"], flags["extra_vars"])
    if flags["json"]:
        print_json({"file": str(entry.file), "host": entry.host, "inventory": entry.content})
    else:
        print(entry.file.read_text(), end="")
    return 0


@verb(
    flags={name: _LOOK[name] for name in ("inventory", "extra-vars")},
    help={"command": 'what to run there, as "invoke status"; without it a shell is opened'},
)
def shell(context: Any, flags: dict[str, Any], command: str = "") -> int:
    """A shell on the jump host, or one command; `invoke` is found there, and stands in the project."""
    from playrunner.jumphost.inventory_file import find_entry
    from playrunner.jumphost.login import log_in

    return log_in(find_entry(flags["inventory"], flags["extra_vars"]), command)
