"""nodes: which nodes can be used for training, and which are quarantined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import pick, positional_if_given, verb

if TYPE_CHECKING:
    from invoke.context import Context

_CHANGE = pick("inventory", "json", "check")


@verb(flags=pick("inventory", "json"), name="list")
def list_(context: Context, flags: dict[str, Any]) -> int:
    """List the nodes of the inventory and its cluster, and why some are not used."""
    from playrunner.training.quarantine_commands import open_quarantine_commands

    with open_quarantine_commands(flags) as commands:
        return commands.show()


@verb(
    flags=_CHANGE,
    positional=["node"],
    help={
        "node": "a host of the inventory, or a node of its cluster; several with commas",
        "reason": "why, for the record",
        "ttl": "how long, as 90m, 24h or 3d",
        "cordon": "a cluster's node: cordon it beside its taint; --no-cordon taints it only",
    },
)
def quarantine(
    context: Context,
    node: str,
    flags: dict[str, Any],
    reason: str = "quarantined by hand",
    ttl: str = "24h",
    cordon: bool = True,
) -> int:
    """Exclude nodes from new runs for a while.

    A host is skipped; a node of a cluster is tainted and cordoned."""
    from playrunner.training.quarantine_commands import open_quarantine_commands

    with open_quarantine_commands(flags) as commands:
        return commands.quarantine(node, reason, ttl, cordon)


@verb(
    flags=_CHANGE,
    positional=positional_if_given("nodes.release", "node"),
    help={
        "node": "the node; several with commas",
        "expired": "instead, release every cluster node whose ttl has passed",
        "all": "instead, release every node that is in quarantine",
    },
)
def release(
    context: Context,
    flags: dict[str, Any],
    node: str | None = None,
    expired: bool = False,
    all: bool = False,
) -> int:
    """Release nodes from quarantine."""
    from playrunner.training.quarantine_commands import open_quarantine_commands

    with open_quarantine_commands(flags) as commands:
        return commands.release(node or "", expired, all)
