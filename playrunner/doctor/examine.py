"""Runs all checks for one inventory, in the order in which they depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from playrunner.doctor import files, jumphost, logins, packages, tools
from playrunner.doctor.finding import HERE, Finding
from playrunner.doctor.machine import this_machine
from playrunner.doctor.purposes import Purposes, asked_for, of_inventory, of_roles
from playrunner.errors import BadInput, NotYet, UndefinedVariable
from playrunner.ssh.fleet import Fleet
from playrunner.variables.host_memory import RunVariables
from playrunner.variables.scope import Scope
from playrunner.variables.templating import default_templar


def examine(fleet: Fleet, roles: Sequence[str]) -> list[Finding]:
    """Every finding, of this machine first; nothing is changed."""
    value = _reader(fleet)
    needs_by_role = of_roles()
    hosts = [host for host in fleet.inventory.hosts if host != "localhost"]
    purposes = (
        asked_for(roles, needs_by_role)
        if roles
        else of_inventory(value, bool(hosts), needs_by_role)
    )
    rehearsal = bool(value("sandbox_state"))
    machine = this_machine(
        {"tools": tools.version_commands(purposes), "folders": files.folders(purposes), "files": []}
    )
    clock_skews = logins.ClockSkews()
    findings = packages.examine(purposes, rehearsal)
    findings += tools.examine(machine, purposes, HERE)
    findings += files.examine(
        _keys(fleet, hosts, rehearsal),
        logins.secrets(value, purposes),
        bool(hosts) and not rehearsal,
    )
    findings += files.examine_room(machine.free_gib, purposes, HERE)
    findings += logins.examine(
        purposes,
        value,
        Scope(RunVariables(fleet.inventory, default_templar, {}, {}), "localhost"),
        clock_skews,
    )
    findings += logins.clock(clock_skews)
    for host in [] if rehearsal else jumphost.jump_hosts(fleet):
        findings += jumphost.examine(fleet, host, _at_jump_host(purposes))
    return findings


def _at_jump_host(purposes: Purposes) -> Purposes:
    """A jump host also needs what logins need."""
    return {"logins": ("jumphost",), **purposes}


def _reader(fleet: Fleet) -> Callable[[str], str]:
    """Reads the inventory's variables; one that cannot be rendered yet counts as not set."""

    def value(name: str) -> str:
        try:
            return str(fleet.variable("localhost", name, "") or "")
        except (UndefinedVariable, NotYet, BadInput):
            return ""

    return value


def _keys(fleet: Fleet, hosts: Sequence[str], rehearsal: bool) -> list[Path]:
    """The private keys that the inventory names; a sandbox manages its own."""
    named = (
        []
        if rehearsal
        else [fleet.variable(host, "ansible_ssh_private_key_file", "") for host in hosts]
    )
    return [Path(str(name)).expanduser() for name in named if name]
