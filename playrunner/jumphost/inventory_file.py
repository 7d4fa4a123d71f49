"""The jump host's entry: the inventory file that `jumphost.create` has written, found and read
again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput, Place
from playrunner.inventory.inventory import Inventory, read_inventory
from playrunner.options import Options
from playrunner.playbook.keywords import templar
from playrunner.record.ledger import state_directory
from playrunner.run.run import open_inventory
from playrunner.text.documents import read_yaml
from playrunner.text.safe_path import file_name
from playrunner.variables.extra_vars import read_extra_vars
from playrunner.variables.host_memory import World
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING


@dataclass(frozen=True)
class Entry:
    """Where the jump host is written down, and the inventory with it."""

    file: Path
    content: Mapping[str, Any]
    inventory: Inventory
    extra: Mapping[str, Any]

    @property
    def host(self) -> str:
        return str(next(iter(self.content["all"]["hosts"])))

    def scope(self) -> Scope:
        return Scope(World(self.inventory, templar, self.extra, {}), self.host)


def find_entry(inventories: Sequence[str], extra_vars: Sequence[str]) -> Entry:
    own = open_inventory(Options(inventory=tuple(inventories)))
    extra = read_extra_vars(tuple(extra_vars))
    cluster = Scope(World(own, templar, extra, {}), "localhost").lookup("cluster_name")
    if cluster is MISSING:
        raise BadInput(
            "cluster_name is not set in the inventory, so it is not known whose jump host is meant"
        )
    file = state_directory() / "jumphost" / file_name(str(cluster)) / "inventory.yaml"
    if not file.is_file():
        raise BadInput(
            f'this machine knows no jump host of "{cluster}" ({file} is not there); run "invoke'
            ' jumphost.create"'
        )
    content = read_yaml(file, plain=True)
    inventory = read_inventory(
        [*map(str, own.files), str(file)]
    )  # which refuses anything but groups with hosts
    if not isinstance(content, dict) or not (content.get("all") or {}).get("hosts"):
        raise BadInput(
            'names no jump host; remove the file and run "invoke jumphost.create"',
            Place(str(file), 1),
        )
    return Entry(file, content, inventory, extra)
