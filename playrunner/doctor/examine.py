"""All checks of one inventory, in the order in which they build on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from playrunner.doctor import files, jumphost, logins, packages, tools
from playrunner.doctor.finding import HERE, Finding
from playrunner.doctor.machine import this_machine
from playrunner.doctor.purposes import Purposes, asked_for, of_inventory, of_roles
from playrunner.errors import BadInput, NotYet, UndefinedVariable
from playrunner.playbook.keywords import templar
from playrunner.ssh.fleet import Fleet
from playrunner.variables.host_memory import World
from playrunner.variables.scope import Scope


def examine(fleet: Fleet, roles: Sequence[str], project: Path) -> list[Finding]:
    """Every finding, of this machine first; nothing is changed."""
    value = _reader(fleet)
    known = of_roles(project / "roles")
    hosts = [host for host in fleet.inventory.hosts if host != "localhost"]
    purposes = asked_for(roles, known) if roles else of_inventory(value, bool(hosts), known)
    rehearsal = bool(value("sandbox_state"))
    machine = this_machine(
        {"tools": tools.asked(purposes), "folders": files.folders(purposes), "files": []}
    )
    heard = logins.Heard()
    found = packages.examine(purposes, rehearsal)
    found += tools.examine(machine, purposes, HERE)
    found += files.examine(
        _keys(fleet, hosts, rehearsal),
        logins.secrets(value, purposes),
        bool(hosts) and not rehearsal,
    )
    found += files.examine_room(machine.free_gib, purposes, HERE)
    found += logins.examine(
        purposes, value, Scope(World(fleet.inventory, templar, {}, {}), "localhost"), heard
    )
    found += logins.clock(heard)
    for host in [] if rehearsal else jumphost.jump_hosts(fleet):
        found += jumphost.examine(fleet, host, _at_jump_host(purposes))
    return found


def _at_jump_host(purposes: Purposes) -> Purposes:
    """Logging in from there is what it is for."""
    return {"logins": ("jumphost",), **purposes}


def _reader(fleet: Fleet) -> Callable[[str], str]:
    """The inventory's variables; one that cannot be worked out yet counts as not set."""

    def value(name: str) -> str:
        try:
            return str(fleet.variable("localhost", name, "") or "")
        except (UndefinedVariable, NotYet, BadInput):
            return ""

    return value


def _keys(fleet: Fleet, hosts: Sequence[str], rehearsal: bool) -> list[Path]:
    """The private keys that the inventory names; a sandbox looks after its own."""
    named = (
        []
        if rehearsal
        else [fleet.variable(host, "ansible_ssh_private_key_file", "") for host in hosts]
    )
    return [Path(str(name)).expanduser() for name in named if name]
