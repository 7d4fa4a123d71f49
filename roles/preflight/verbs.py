"""preflight: look before anything is made, for one role or for all of an inventory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb

GROUP = "preflight"
LIFECYCLE = False

_FLAGS = {
    name: RUN_FLAGS[name] for name in ("inventory", "extra-vars", "json", "no-wait", "verbose")
}


@verb(
    flags=_FLAGS,
    help={
        "roles": "only for these roles and what they depend on, as eks,efs; by default for all",
        "max-hourly": "refuse a plan that costs more dollars an hour",
    },
)
def check(context: Any, flags: dict[str, Any], roles: str = "", max_hourly: str = "") -> int:
    """Say whether everything of the inventory could be made, what stands in the way, and what it
    costs by the hour."""
    from playrunner.commands.cost import planned
    from playrunner.commands.role import with_limit
    from playrunner.run.run import run_plays

    play = planned(roles, flags)
    options = replace(options_from(flags), check=True, tags="preflight")
    return run_plays([play], options, "preflight.check", extra=with_limit({}, max_hourly, play))
