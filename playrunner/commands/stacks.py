"""status and teardown: all resources of an inventory's cluster, of every role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, verb
from playrunner.commands.role import DELETE, KEPT, LOOK

if TYPE_CHECKING:
    from invoke.context import Context


@verb(flags=LOOK)
def status(context: Context, flags: dict[str, Any]) -> int:
    """Show the resources of this inventory's cluster, role by role."""
    from playrunner.lifecycle.clouds_of_inventory import chosen_clouds, cloud_roles
    from playrunner.lifecycle.status_and_delete import show_status

    options = options_from(flags)
    return show_status(cloud_roles(chosen_clouds(options)), options, "status")


@verb(
    flags=DELETE,
    help={
        **KEPT,
        "also": "ids of things of others in our network to delete as well, with commas between",
        "expired": "instead, delete every stack of the account whose --ttl has passed",
    },
)
def teardown(
    context: Context,
    flags: dict[str, Any],
    with_kept: bool = False,
    expired: bool = False,
    also: str = "",
) -> int:
    """Delete all resources of this inventory's cluster and verify that none is left.

    The exit code is 7 if something is left."""
    from playrunner.lifecycle.teardown import tear_down, tear_down_expired

    options = options_from(flags)
    named = [word.strip() for word in also.split(",") if word.strip()]
    return (
        tear_down_expired(options, with_kept) if expired else tear_down(options, with_kept, named)
    )
