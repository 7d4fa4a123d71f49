"""audit: resources left in an AWS account or a Google Cloud project, of one stack or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, pick, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from invoke.context import Context

    from playrunner.leftovers import Leftover
    from playrunner.leftovers.per_cloud import Client

LEFTOVERS = 7  # the exit code if resources are left


@verb(
    flags=pick("inventory", "extra-vars", "json"),
    help={
        "expired": "only resources past the expiry set by --ttl",
        "all": "resources of every stack, not only the inventory's",
    },
)
def audit(context: Context, flags: dict[str, Any], expired: bool = False, all: bool = False) -> int:
    """List leftover cloud resources by stack: age, owner, expiry, cost.

    The exit code is 7 if there are any."""
    import time

    from playrunner import leftovers

    clients, stack = accounts_and_stack(flags)
    resources = [
        resource for client in clients for resource in _search(client, "" if all else stack)
    ]
    account, region = (
        ", ".join(getattr(client, name) for client in clients) for name in ("account", "region")
    )
    now = time.time()
    if expired:
        resources = leftovers.expired(resources, now)
    code = LEFTOVERS if resources else 0
    if flags["json"]:
        print_json(
            {
                **leftovers.as_data(resources, now),
                "account": account,
                "region": region,
                "exit_code": code,
            }
        )
    elif resources:
        print(leftovers.as_table(resources, now))
    else:
        whose = f" of {stack}" if stack and not all else ""
        print(
            f"nothing {'has expired' if expired else 'is left'}{whose} in account {account},"
            f" {region}"
        )
    return code


def accounts_and_stack(flags: dict[str, Any]) -> tuple[list[Client], str]:
    """The accounts of the inventory's variables, and the stack they name (if any)."""
    from playrunner.aws.client import Account, Aws, settings_of
    from playrunner.gcp.client import Gcp
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import settings_of as gcp_settings_of
    from playrunner.lifecycle.clouds_of_inventory import clouds_of
    from playrunner.variables.asked_inventory import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import RunVariables
    from playrunner.variables.scope import Scope
    from playrunner.variables.templating import MISSING, default_templar

    inventory = open_inventory(options_from(flags))
    scope = Scope(
        RunVariables(inventory, default_templar, read_extra_vars(tuple(flags["extra_vars"])), {}),
        "localhost",
    )

    def value(name: str) -> str:
        variable = scope.lookup(name)
        return "" if variable is MISSING or variable is None else str(variable)

    clients: list[Client] = [
        Gcp(Project(gcp_settings_of(value))) if name == "gcp" else Aws(Account(settings_of(value)))
        for name in clouds_of(scope)
    ]
    return clients, value("cluster_name")


def _search(client: Client, stack: str) -> list[Leftover]:
    from playrunner import leftovers
    from playrunner.cloud.resource import Refused, Unanswered
    from playrunner.errors import HostUnreachable, StepFailed

    try:
        return leftovers.find(client, stack or None)
    except Unanswered as error:
        raise HostUnreachable(str(error)) from None
    except Refused as refusal:
        raise StepFailed(str(refusal)) from None
