"""The inventory that a command is asked to work on, which may need its extra variables."""

from __future__ import annotations

import os

from playrunner import project
from playrunner.config.ansible_config import ansible_config
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.options import Options
from playrunner.variables.extra_vars import read_extra_vars


def open_inventory(options: Options) -> Inventory:
    """The inventory asked for, or the usual one."""
    return read_inventory(inventory_sources(options), lambda: read_extra_vars(options.extra_vars))


def inventory_sources(options: Options) -> list[str]:
    """The inventory asked for; without one, PLAYRUNNER_INVENTORY, that of ansible.cfg or
    ANSIBLE_INVENTORY, or the project's default."""
    named = (
        options.inventory
        or tuple(filter(None, [os.environ.get("PLAYRUNNER_INVENTORY")]))
        or tuple(ansible_config().words("inventory"))
    )
    sources = [project.find_inventory(source) for source in named]
    return sources or [project.default_inventory()]
