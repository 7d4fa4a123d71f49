"""status and teardown: everything of a cluster, whatever roles made it."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import options_from, verb
from playrunner.commands.role import DELETE, LOOK


@verb(flags=LOOK)
def status(context: Any, flags: dict[str, Any]) -> int:
    """What there is of this inventory's cluster, role by role."""
    from pathlib import Path

    from playrunner.lifecycle.clouds_of_inventory import chosen, cloud_roles
    from playrunner.lifecycle.status_and_delete import show_status

    options = options_from(flags)
    return show_status(cloud_roles(Path.cwd() / "roles", chosen(options)), options, "status")


@verb(
    flags=DELETE,
    help={
        "with-kept": "also what steps say to keep (buckets, images)",
        "expired": "instead: every stack of the account whose --ttl is over",
    },
)
def teardown(
    context: Any, flags: dict[str, Any], with_kept: bool = False, expired: bool = False
) -> int:
    """Delete everything of this inventory's cluster and prove that nothing is left; exit code 7
    when something is."""
    from playrunner.lifecycle.teardown import tear_down, tear_down_expired

    options = options_from(flags)
    return tear_down_expired(options) if expired else tear_down(options, with_kept)
