"""Where a connection setting was written: the file and line behind a message about a host."""

from __future__ import annotations

import re

from playrunner.errors import Place
from playrunner.variables import Scope

_NAMES = re.compile(r"\bansible_\w+")
# What a message that names no variable can be about: how a jump host is reached.
_JUMPS = ("via", "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args")


def place_of_setting(scope: Scope, message: str) -> Place | None:
    """The place of the variable that a message names; without one in the inventory, that of the host's first variable."""
    said = scope.world.inventory.variables(scope.host)
    for name in (*_NAMES.findall(message), *_JUMPS):
        # The message may name one spelling, and the inventory have the other.
        for spelled in (name, name.replace("ansible_ssh_", "ansible_"), name.replace("ansible_", "ansible_ssh_")):
            if spelled in said:
                return said[spelled].place
    return next((value.place for value in said.values()), None)
