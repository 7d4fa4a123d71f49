"""Checks of a jump host: the machine that runs commands and through which hosts are reached."""

from __future__ import annotations

import time

from playrunner.doctor import files, tools
from playrunner.doctor.finding import Finding
from playrunner.doctor.logins import MOST_SKEW_SECONDS
from playrunner.doctor.machine import Machine, remote_machine
from playrunner.doctor.purposes import Purposes
from playrunner.errors import PlayrunnerError
from playrunner.project import program
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.targets import trust_command

MIN_REMOTE_PYTHON = (3, 9)  # for modules that run on hosts
_FOR_JUMP_HOSTS = ("images", "logins")  # the rest is checked on this machine


def jump_hosts(fleet: Fleet) -> list[str]:
    """Every host that others are reached through."""
    named = {str(fleet.variable(host, "via", "")) for host in fleet.inventory.hosts}
    named |= {
        str(fleet.variable("localhost", "kube_via", "")),
        str(fleet.variable("localhost", "jumphost_existing", "")),
    }
    return sorted(name for name in named if name in fleet.inventory.hosts)


def examine(fleet: Fleet, host: str, purposes: Purposes) -> list[Finding]:
    relevant = {purpose: roles for purpose, roles in purposes.items() if purpose in _FOR_JUMP_HOSTS}
    home = str(fleet.variable(host, "jumphost_home", ""))
    command = f"{home}/bin/invoke" if home else ""
    try:
        machine = remote_machine(
            fleet,
            host,
            {
                "tools": tools.version_commands(relevant),
                "folders": files.remote_folders(relevant),
                "files": [command] if command else [],
            },
        )
    except PlayrunnerError as error:
        trusting = trust_command(host, fleet.inventory.sources)
        return [
            Finding(
                "jump host reachable",
                False,
                str(error),
                where=host,
                fix=f"{trusting} if its key is not known; else check that it is up",
            )
        ]
    findings = [
        _python(machine, host),
        _clock(machine, host),
        *tools.examine(machine, relevant, host),
        *files.examine_room(machine.free_gib, relevant, host),
    ]
    if command:
        installed = machine.files[command]
        findings.append(
            Finding(
                "playrunner installed",
                installed,
                command if installed else f"{command} does not exist",
                ("jumphost",),
                f"{program()} jumphost.create",
                where=host,
            )
        )
    return findings


def _python(machine: Machine, host: str) -> Finding:
    path, version = machine.python
    least = ".".join(map(str, MIN_REMOTE_PYTHON))
    return Finding(
        f"Python {least} or later",
        version >= MIN_REMOTE_PYTHON,
        f"{path} {'.'.join(map(str, version))}",
        fix=f"install Python {least} or later there",
        where=host,
    )


def _clock(machine: Machine, host: str) -> Finding:
    skew = abs(machine.time - time.time())
    return Finding(
        "clock in sync with this machine",
        skew <= MOST_SKEW_SECONDS,
        f"off by {skew:.0f} s",
        fix="start a time service there: sudo timedatectl set-ntp true",
        where=host,
    )
