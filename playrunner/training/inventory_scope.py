"""The variables of an inventory, as the verbs of training read them."""

from __future__ import annotations

import sys
from typing import Any

from playrunner.inventory.inventory import Inventory
from playrunner.options import Options
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.extra_vars import read_extra_vars
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING, default_templar


def scope_of(inventory: Inventory, options: Options) -> Scope:
    """The inventory's variables as a play would see them, with command-line values over them."""
    named = {"kubeconfig": options.kubeconfig, "kube_context": ""} if options.kubeconfig else {}
    extra = {**named, **read_extra_vars(options.extra_vars)}
    return Scope(
        RunVariables(
            inventory, default_templar, extra, {"ansible_playbook_python": sys.executable}
        ),
        "localhost",
    )


def value_of(scope: Scope, name: str, otherwise: Any) -> Any:
    value = scope.lookup(name)
    return otherwise if value is MISSING or value is None else value


def launcher_of(options: Options) -> str:
    """The launcher that the inventory chooses (train_launcher); empty where the profile decides."""
    return str(value_of(scope_of(open_inventory(options), options), "train_launcher", ""))
