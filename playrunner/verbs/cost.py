"""cost: what an inventory's plan costs, by the price table alone; nothing is asked of AWS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.cli import RUN_FLAGS, print_json, verb

if TYPE_CHECKING:
    from playrunner.model import Play, Step
    from playrunner.modules.aws.preflight import Preflight

PREFLIGHT = "aws.preflight"
_FLAGS = {name: RUN_FLAGS[name] for name in ("inventory", "extra-vars", "json")}


@verb(flags=_FLAGS, help={"roles": "only these roles and what they depend on, as eks,efs; by default all that make things"})
def cost(context: Any, flags: dict[str, Any], roles: str = "") -> int:
    """What a plan costs an hour, a day and a month, thing by thing. It asks nobody: prices are from a dated table."""
    from playrunner.errors import StepFailed
    from playrunner.module import Failed
    from playrunner.modules.aws._preflight_table import as_data, as_table

    play = planned(roles)
    step = preflight_step(play)
    try:
        plan = _declared(play, step, flags).plan() if step else []
    except Failed as failure:
        raise StepFailed(str(failure)) from None
    if flags["json"]:
        print_json({**as_data(plan), "roles": [role.name for role in play.roles], "exit_code": 0})
    else:
        print(as_table(plan))
    return 0


def planned(roles: str) -> Play:
    """The play of these roles, or of all that make things in a cloud, with what they depend on."""
    from pathlib import Path

    from playrunner.load.playbook import roles_play
    from playrunner.teardown import cloud_roles

    chosen = [name.strip() for name in roles.split(",") if name.strip()] or cloud_roles(Path.cwd() / "roles")
    return roles_play(["preflight", *(name for name in chosen if name != "preflight")])


def preflight_step(play: Play) -> Step | None:
    from playrunner.model import steps_of

    return next((step for section in play.sections for step in steps_of(section) if step.module == PREFLIGHT), None)


def _declared(play: Play, step: Step, flags: dict[str, Any]) -> Preflight:
    """The play's preflight with its arguments as the inventory has them."""
    from playrunner import arguments
    from playrunner.extra_vars import read_extra_vars
    from playrunner.load.words import templar
    from playrunner.modules.aws.preflight import Preflight
    from playrunner.options import Options
    from playrunner.run import open_inventory
    from playrunner.variables import Scope
    from playrunner.world import OMIT, PlayVariables, World

    inventory = open_inventory(Options(inventory=tuple(flags["inventory"])))
    variables = PlayVariables(play, {"ansible_play_role_names": [role.name for role in play.roles]})
    for role in play.roles:
        variables.add_role(role)
    scope = Scope(World(inventory, templar, read_extra_vars(tuple(flags["extra_vars"])), {}), "localhost", variables, step)
    rendered = {name: templar.render(value, scope) for name, value in step.arguments.items()}
    given = {name: value for name, value in rendered.items() if value is not OMIT}
    return Preflight(**arguments.converted(Preflight, given, PREFLIGHT, step.place, final=True))
