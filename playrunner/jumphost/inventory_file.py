"""Finds and reads the inventory file that `jumphost.create` wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.frozen import frozen
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.options import Options
from playrunner.project import program
from playrunner.record.ledger import state_directory
from playrunner.text.documents import read_yaml
from playrunner.text.safe_path import file_name
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.extra_vars import read_extra_vars
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING, default_templar


@frozen
class Entry:
    """The jump host's inventory file, and the inventory that includes it."""

    file: Path
    content: Mapping[str, Any]
    inventory: Inventory
    extra: Mapping[str, Any]

    @property
    def host(self) -> str:
        return str(next(iter(self.content["all"]["hosts"])))

    def scope(self) -> Scope:
        return Scope(RunVariables(self.inventory, default_templar, self.extra, {}), self.host)


def find_entry(inventories: Sequence[str], extra_vars: Sequence[str]) -> Entry:
    base = open_inventory(Options(inventory=tuple(inventories)))
    extra = read_extra_vars(tuple(extra_vars))
    cluster = Scope(RunVariables(base, default_templar, extra, {}), "localhost").lookup(
        "cluster_name"
    )
    if cluster is MISSING:
        raise BadInput(
            "cluster_name is not set in the inventory; it is needed to find the jump host"
        )
    file = state_directory() / "jumphost" / file_name(str(cluster)) / "inventory.yaml"
    if not file.is_file():
        raise BadInput(
            f'this machine has no jump host for "{cluster}" ({file} does not exist); run'
            f' "{program()}'
            ' jumphost.create"'
        )
    content = read_yaml(file, plain=True)
    # Refuses anything but groups with hosts
    inventory = read_inventory([*map(str, base.files), str(file)])
    if not isinstance(content, dict) or not (content.get("all") or {}).get("hosts"):
        raise BadInput(
            f'names no jump host; delete the file and run "{program()} jumphost.create"',
            Place(str(file), 1),
        )
    return Entry(file, content, inventory, extra)
