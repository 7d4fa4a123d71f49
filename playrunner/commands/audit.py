"""audit: what is left in an AWS account or a Google Cloud project, of this inventory's stack or of
all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, verb
from playrunner.output.json_output import print_json

if TYPE_CHECKING:
    from playrunner.leftovers import Leftover
    from playrunner.leftovers.per_cloud import Client

LEFTOVERS = 7  # the exit code when something is there

_FLAGS = {name: RUN_FLAGS[name] for name in ("inventory", "extra-vars", "json")}


@verb(
    flags=_FLAGS,
    help={
        "expired": "only what is past the expiry that --ttl wrote",
        "all": "every stack that left a mark there, not only the inventory's",
    },
)
def audit(context: Any, flags: dict[str, Any], expired: bool = False, all: bool = False) -> int:
    """Show what is left in a cloud, by stack: age, owner, expiry and cost. Exit code 7 when
    something is."""
    import time

    from playrunner import leftovers

    clients, stack = _accounts_and_stack(flags)
    found = [one for client in clients for one in _search(client, "" if all else stack)]
    account, region = (
        ", ".join(getattr(client, name) for client in clients) for name in ("account", "region")
    )
    now = time.time()
    if expired:
        found = leftovers.expired(found, now)
    code = LEFTOVERS if found else 0
    if flags["json"]:
        print_json(
            {
                **leftovers.as_data(found, now),
                "account": account,
                "region": region,
                "exit_code": code,
            }
        )
    elif found:
        print(leftovers.as_table(found, now))
    else:
        whose = f" of {stack}" if stack and not all else ""
        print(
            f"nothing {'has expired' if expired else 'is left'}{whose} in account {account},"
            f" {region}"
        )
    return code


def _accounts_and_stack(flags: dict[str, Any]) -> tuple[list[Client], str]:
    """The accounts that the inventory's variables lead to, and the stack they name (if any)."""
    from playrunner.aws.client import Account, Aws, settings_of
    from playrunner.gcp.client import Gcp
    from playrunner.gcp.project import Project
    from playrunner.gcp.settings import settings_of as gcp_settings_of
    from playrunner.lifecycle.clouds_of_inventory import clouds_of
    from playrunner.options import Options
    from playrunner.playbook.keywords import templar
    from playrunner.run.run import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import World
    from playrunner.variables.scope import Scope
    from playrunner.variables.templating import MISSING

    inventory = open_inventory(Options(inventory=tuple(flags["inventory"])))
    scope = Scope(
        World(inventory, templar, read_extra_vars(tuple(flags["extra_vars"])), {}), "localhost"
    )

    def value(name: str) -> str:
        found = scope.lookup(name)
        return "" if found is MISSING or found is None else str(found)

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
