"""The hosts that may train: where an inventory names them, and where each keeps code and runs."""

from __future__ import annotations

from playrunner.options import Options
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.quarantine import Quarantine
from playrunner.ssh.sandbox_autostart import ensure_sandbox_running
from playrunner.variables.asked_inventory import open_inventory
from playrunner.variables.extra_vars import read_extra_vars

DEFAULT_ROOT = "~/playrunner-training"
DEFAULT_PYTHON = "python3"


def open_fleet(options: Options, nodes: int = 0) -> Fleet:
    """The inventory's hosts, ready to be asked; a sandbox's nodes are started when they are not
    up."""
    inventory = open_inventory(options)
    ensure_sandbox_running(inventory, nodes)
    return Fleet(inventory, read_extra_vars(options.extra_vars))


def training_hosts(fleet: Fleet, options: Options) -> list[str]:
    """In the inventory's order, spares last."""
    given = fleet.variable("localhost", "train_hosts", "")
    chosen = fleet.select(
        str(given or ("nodes" if "nodes" in fleet.inventory.groups else "all")), options.limit
    )
    spares = str(fleet.variable("localhost", "train_spares", ""))
    return list(dict.fromkeys([*chosen, *(fleet.select(spares, options.limit) if spares else [])]))


def usable_hosts(fleet: Fleet, options: Options) -> list[str]:
    """Those that are not in quarantine."""
    aside = Quarantine(fleet).entries()
    return [host for host in training_hosts(fleet, options) if host not in aside]


def root_of(fleet: Fleet, host: str) -> str:
    """A node's folder of code and runs."""
    return str(fleet.variable(host, "train_root", DEFAULT_ROOT))


def python_of(fleet: Fleet, host: str) -> str:
    """The interpreter that trains there."""
    venv = fleet.variable(host, "train_venv")
    otherwise = f"{venv}/bin/python" if venv else DEFAULT_PYTHON
    return str(fleet.variable(host, "train_python", otherwise))
