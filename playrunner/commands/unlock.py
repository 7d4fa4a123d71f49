"""unlock: break the lease of a run that holds a stack in an AWS account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import pick, verb

if TYPE_CHECKING:
    from invoke.context import Context

    from playrunner.aws.client import Aws


@verb(flags=pick("inventory", "extra-vars", "json", "yes", "check"))
def unlock(context: Context, flags: dict[str, Any]) -> int:
    """Break the lease of a run that works on this inventory's cluster in AWS.

    A run that has ended for good loses it by itself after three minutes; one that still works stops
    before its next change."""
    from playrunner.aws.client import Aws
    from playrunner.commands.audit import accounts_and_stack
    from playrunner.errors import BadInput
    from playrunner.output.json_output import print_json

    clients, stack = accounts_and_stack(flags)
    if not stack:
        raise BadInput(
            "cluster_name is not set; a lease is a cluster's: set it in the inventory (all: vars:)"
        )
    breaks = not flags["check"]
    holders = {
        client.region: holder
        for client in clients
        if isinstance(client, Aws) and (holder := _released(client, stack, flags))
    }
    if flags["json"]:
        print_json({"cluster": stack, "holders": holders, "changed": breaks and bool(holders)})
    elif not holders:
        print(f"no run holds {stack}")
    return 0


def _released(client: Aws, stack: str, flags: dict[str, Any]) -> str:
    """Who holds the lease, which is then broken unless only a look was asked for."""
    from playrunner.aws import lease
    from playrunner.errors import Interrupted

    name = lease.parameter_name(stack)
    holder = lease.held_by(client, name)
    if holder is None:
        return ""
    if not flags["json"]:
        print(f"{stack} in {client.region} is held by {holder}")
    if not flags["check"]:
        if not _confirmed(flags):
            raise Interrupted("its lease is kept")
        lease.delete(client, name)
    if not flags["json"] and not flags["check"]:
        print("its lease is broken")
    return str(holder)


def _confirmed(flags: dict[str, Any]) -> bool:
    import sys

    from playrunner.errors import BadInput

    if flags["yes"]:
        return True
    if not sys.stdin.isatty():
        raise BadInput("there is no terminal to ask on; use --yes, or --check only to look")
    return input("Break its lease? [y/N] ").strip().lower() in ("y", "yes")
