"""preflight: checks before anything is created, for some roles or for a whole inventory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, pick, verb

if TYPE_CHECKING:
    from invoke.context import Context

LIFECYCLE = False


@verb(
    flags=pick("inventory", "extra-vars", "json", "no-wait", "verbose"),
    help={
        "roles": "only these roles and their dependencies, as eks,efs (default: all)",
        "max-hourly": "fail if the plan costs more USD per hour",
    },
)
def check(context: Context, flags: dict[str, Any], roles: str = "", max_hourly: str = "") -> int:
    """Check whether the inventory's resources can be created: blockers, and cost per hour."""
    from playrunner.commands.cost import planned
    from playrunner.commands.role import with_limit
    from playrunner.run.run import run_plays

    play = planned(roles, flags)
    options = replace(options_from(flags), check=True, tags="preflight")
    return run_plays([play], options, "preflight.check", extra=with_limit({}, max_hourly, play))
