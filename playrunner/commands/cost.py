"""cost: what an inventory's plan costs, from the price table alone; no cloud API is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

    from playrunner.cloud.costs import PlanItem
    from playrunner.model import Play, Step

PREFLIGHTS = ("aws.preflight", "gcp.preflight")


@verb(
    flags=pick("inventory", "extra-vars", "json"),
    help={
        "roles": (
            "only these roles and their dependencies, as eks,efs (default: all that create any)"
        )
    },
)
def cost(context: Context, flags: dict[str, Any], roles: str = "") -> int:
    """Estimate the cost per hour, day and month, resource by resource.

    Prices are list prices from a dated table; no cloud API is called."""
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
    """The play of these roles, or of all that create resources in the inventory's cloud, with their
    dependencies."""
    from playrunner.lifecycle.clouds_of_inventory import chosen_clouds, cloud_roles
    from playrunner.playbook.playbook import roles_play

    named = [name.strip() for name in roles.split(",") if name.strip()]
    named = named or cloud_roles(chosen_clouds(options_from(flags)))
    return roles_play(["preflight", *(name for name in named if name != "preflight")])


def preflight_steps(play: Play) -> list[Step]:
    """Each once, however many roles depend on the preflight."""
    from playrunner.model import steps_of

    steps = (step for section in play.sections for step in steps_of(section))
    return list({step.place: step for step in steps if step.module in PREFLIGHTS}.values())


def _priced(play: Play, step: Step, flags: dict[str, Any]) -> list[PlanItem]:
    """The plan of one cloud's preflight step, with its arguments from the inventory."""
    from playrunner.playbook import arguments, module_index
    from playrunner.variables.asked_inventory import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import OMIT, PlayVariables, RunVariables
    from playrunner.variables.scope import Scope
    from playrunner.variables.templating import default_templar

    inventory = open_inventory(options_from(flags))
    variables = PlayVariables(play, {"ansible_role_names": [role.name for role in play.roles]})
    for role in play.roles:
        variables.add_role(role)
    scope = Scope(
        RunVariables(inventory, default_templar, read_extra_vars(tuple(flags["extra_vars"])), {}),
        "localhost",
        variables,
        step,
    )
    rendered = {
        name: default_templar.render(value, scope) for name, value in step.arguments.items()
    }
    values = {name: value for name, value in rendered.items() if value is not OMIT}
    preflight: Any = module_index.module_class(step.module)
    plan: list[PlanItem] = preflight(
        **arguments.converted(preflight, values, step.module, step.place, final=True)
    ).plan()
    return plan
