"""connections: those that stay open between commands (connections.keep)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context


@verb(flags=pick("json"))
def list(context: Context, flags: dict[str, Any]) -> int:
    """Show the connections that are kept open for the next command."""
    from playrunner.ssh.kept.client import ask

    kept = ask({"op": "list"}) or []
    if flags["json"]:
        print_json({"connections": kept})
        return 0
    for entry in sorted(kept, key=lambda entry: str(entry["host"])):
        state = "in use" if entry["in_use"] else f"closes in {entry['seconds_left']} s"
        via = f" via {entry['via']}" if entry["via"] else ""
        print(f"{entry['host']}: {entry['address']}{via}, {state}")
    if not kept:
        print("no connection is kept open")
    return 0


@verb(flags=pick("json", "check"))
def close(context: Context, flags: dict[str, Any]) -> int:
    """Close the kept connections that no command is using."""
    from playrunner.ssh.kept.client import ask

    if flags["check"]:
        closed = [entry for entry in ask({"op": "list"}) or [] if not entry["in_use"]]
    else:
        closed = ask({"op": "close"}) or []
    names = sorted(str(entry["host"]) for entry in closed)
    if flags["json"]:
        print_json({"closed": names, "changed": bool(names) and not flags["check"]})
    elif names:
        print(f"{'would close' if flags['check'] else 'closed'}: {', '.join(names)}")
    else:
        print("no connection is kept open")
    return 0
