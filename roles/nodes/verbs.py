"""nodes: which nodes may train, and which are in quarantine."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import INVENTORY_FLAGS, RUN_FLAGS, positional_if_given, verb

_LOOK = {name: INVENTORY_FLAGS[name] for name in ("inventory", "json")}
_CHANGE = {**_LOOK, "check": RUN_FLAGS["check"]}


@verb(flags=_LOOK, name="list")
def list_(context: Any, flags: dict[str, Any]) -> int:
    """The nodes of the inventory and of its cluster, and why some are not to be used."""
    from playrunner.training.quarantine_verbs import open_ward

    with open_ward(flags) as ward:
        return ward.show()


@verb(
    flags=_CHANGE,
    positional=["node"],
    help={
        "node": "a host of the inventory, or a node of its cluster",
        "reason": "why, for whoever asks later",
        "ttl": "for how long, as 90m, 24h or 3d",
    },
)
def quarantine(
    context: Any,
    node: str,
    flags: dict[str, Any],
    reason: str = "put aside by hand",
    ttl: str = "24h",
) -> int:
    """Keep new work away from a node for a while: a host is passed over, a cluster's node is
    tainted and cordoned."""
    from playrunner.training.quarantine_verbs import open_ward

    with open_ward(flags) as ward:
        return ward.quarantine(node, reason, ttl)


@verb(
    flags=_CHANGE,
    positional=positional_if_given("nodes.release", "node"),
    help={"node": "which one", "expired": "instead: all nodes of the cluster whose time is over"},
)
def release(
    context: Any, flags: dict[str, Any], node: str | None = None, expired: bool = False
) -> int:
    """Let a node be used again."""
    from playrunner.training.quarantine_verbs import open_ward

    with open_ward(flags) as ward:
        return ward.release(node or "", expired)
