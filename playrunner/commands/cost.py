"""cost: what an inventory's plan costs, by the price table alone; no cloud is asked anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from playrunner.cloud.costs import Thing
    from playrunner.model import Play, Step

PREFLIGHTS = ("aws.preflight", "gcp.preflight")
_FLAGS = {name: RUN_FLAGS[name] for name in ("inventory", "extra-vars", "json")}


@verb(
    flags=_FLAGS,
    help={
        "roles": (
            "only these roles and what they depend on, as eks,efs; by default all that make things"
        )
    },
)
def cost(context: Any, flags: dict[str, Any], roles: str = "") -> int:
    """What a plan costs an hour, a day and a month, thing by thing. It asks nobody: prices are from
    a dated table."""
    from playrunner.cloud.costs import as_data, as_table
    from playrunner.errors import StepFailed
    from playrunner.hostside.module import Failed

    play = planned(roles, flags)
    try:
        plan = [thing for step in preflight_steps(play) for thing in _priced(play, step, flags)]
    except Failed as failure:
        raise StepFailed(str(failure)) from None
    if flags["json"]:
        print_json({**as_data(plan), "roles": [role.name for role in play.roles], "exit_code": 0})
    else:
        print(as_table(plan))
    return 0


def planned(roles: str, flags: dict[str, Any]) -> Play:
    """The play of these roles, or of all that make things in the inventory's cloud, with what they
    depend on."""
    from pathlib import Path

    from playrunner.lifecycle.clouds_of_inventory import chosen, cloud_roles
    from playrunner.options import Options
    from playrunner.playbook.playbook import roles_play

    named = [name.strip() for name in roles.split(",") if name.strip()]
    if not named:
        options = Options(
            inventory=tuple(flags["inventory"]), extra_vars=tuple(flags["extra_vars"])
        )
        named = cloud_roles(Path.cwd() / "roles", chosen(options))
    return roles_play(["preflight", *(name for name in named if name != "preflight")])


def preflight_steps(play: Play) -> list[Step]:
    from playrunner.model import steps_of

    return [
        step for section in play.sections for step in steps_of(section) if step.module in PREFLIGHTS
    ]


def _priced(play: Play, step: Step, flags: dict[str, Any]) -> list[Thing]:
    """What the play's preflight of one cloud says, with its arguments as the inventory has them."""
    from playrunner.options import Options
    from playrunner.playbook import arguments, module_index
    from playrunner.playbook.keywords import templar
    from playrunner.run.run import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import OMIT, PlayVariables, World
    from playrunner.variables.scope import Scope

    inventory = open_inventory(Options(inventory=tuple(flags["inventory"])))
    variables = PlayVariables(play, {"ansible_play_role_names": [role.name for role in play.roles]})
    for role in play.roles:
        variables.add_role(role)
    scope = Scope(
        World(inventory, templar, read_extra_vars(tuple(flags["extra_vars"])), {}),
        "localhost",
        variables,
        step,
    )
    rendered = {name: templar.render(value, scope) for name, value in step.arguments.items()}
    given = {name: value for name, value in rendered.items() if value is not OMIT}
    preflight: Any = module_index.module_class(step.module)
    plan: list[Thing] = preflight(
        **arguments.converted(preflight, given, step.module, step.place, final=True)
    ).plan()
    return plan
