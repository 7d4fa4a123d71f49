"""The jump host as the doctor sees it: the machine from which verbs are run, and through which
hosts are reached."""

from __future__ import annotations

import time

from playrunner.doctor import files, tools
from playrunner.doctor.finding import Finding
from playrunner.doctor.logins import MOST_SKEW_SECONDS
from playrunner.doctor.machine import Machine, far_machine
from playrunner.doctor.purposes import Purposes
from playrunner.errors import PlayrunnerError
from playrunner.ssh.fleet import Fleet
from playrunner.ssh.targets import trust_command

LEAST_FAR_PYTHON = (3, 9)  # what modules that run on hosts are written for
_FOR_JUMP_HOSTS = ("images", "logins")  # the rest is asked of the machine that runs the verbs


def jump_hosts(fleet: Fleet) -> list[str]:
    """Every host that others are reached through."""
    named = {str(fleet.variable(host, "via", "")) for host in fleet.inventory.hosts}
    named |= {
        str(fleet.variable("localhost", "kube_via", "")),
        str(fleet.variable("localhost", "jumphost_existing", "")),
    }
    return sorted(name for name in named if name in fleet.inventory.hosts)


def examine(fleet: Fleet, host: str, purposes: Purposes) -> list[Finding]:
    wanted = {purpose: roles for purpose, roles in purposes.items() if purpose in _FOR_JUMP_HOSTS}
    home = str(fleet.variable(host, "jumphost_home", ""))
    command = f"{home}/bin/invoke" if home else ""
    try:
        machine = far_machine(
            fleet,
            host,
            {
                "tools": tools.asked(wanted),
                "folders": files.far_folders(wanted),
                "files": [command] if command else [],
            },
        )
    except PlayrunnerError as error:
        trusting = trust_command(host, fleet.inventory.sources)
        return [
            Finding(
                "a jump host that answers",
                False,
                str(error),
                where=host,
                fix=f"{trusting} if its key is not known; else look whether it is up",
            )
        ]
    found = [
        _python(machine, host),
        _clock(machine, host),
        *tools.examine(machine, wanted, host),
        *files.examine_room(machine.free_gib, wanted, host),
    ]
    if command:
        there = machine.files[command]
        found.append(
            Finding(
                "this project, installed",
                there,
                command if there else f"there is no {command}",
                ("jumphost",),
                "invoke jumphost.create",
                where=host,
            )
        )
    return found


def _python(machine: Machine, host: str) -> Finding:
    path, version = machine.python
    least = ".".join(map(str, LEAST_FAR_PYTHON))
    return Finding(
        f"Python {least} or later",
        version >= LEAST_FAR_PYTHON,
        f"{path} {'.'.join(map(str, version))}",
        fix=f"install Python {least} or later there",
        where=host,
    )


def _clock(machine: Machine, host: str) -> Finding:
    skew = abs(machine.time - time.time())
    return Finding(
        "a clock that agrees with this machine",
        skew <= MOST_SKEW_SECONDS,
        f"{skew:.0f} s away",
        fix="start a time service there: sudo timedatectl set-ntp true",
        where=host,
    )
