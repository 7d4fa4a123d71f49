"""Magic variables: names that the runner defines (inventory_hostname, groups, hostvars, ...)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner import project
from playrunner.model import Role
from playrunner.variables.host_memory import OMIT
from playrunner.variables.template_scope import MISSING
from playrunner.variables.views import HostVars, View

if TYPE_CHECKING:
    from playrunner.variables.scope import Scope


def _group_names(scope: Scope) -> list[str]:
    return scope.run_vars.inventory.host(scope.host).group_names


def _role_value(read: Callable[[Role], Any]) -> Callable[[Scope], Any]:
    return lambda scope: read(scope.step.role) if scope.step and scope.step.role else MISSING


def _facts(scope: Scope) -> dict[str, Any]:
    """The gathered facts under their plain names."""
    if scope.waiter:
        scope.waiter.wait_for("ansible_facts")
    facts = dict(scope.memory("facts"))  # steps that are on their way may add some meanwhile
    return {name.removeprefix("ansible_"): value for name, value in facts.items()}


MAGIC_VARIABLES: dict[str, Callable[[Scope], Any]] = {
    "inventory_hostname": lambda scope: scope.host,
    "inventory_hostname_short": lambda scope: scope.host.partition(".")[0],
    "group_names": _group_names,
    "groups": lambda scope: {
        name: list(hosts) for name, hosts in scope.run_vars.inventory.groups.items()
    },
    "hostvars": HostVars,
    "vars": View,
    "omit": lambda scope: OMIT,
    "ansible_facts": _facts,
    "inventory_dir": lambda scope: str(scope.run_vars.inventory.directory),
    "inventory_file": lambda scope: str(next(iter(scope.run_vars.inventory.files), "")),
    "role_path": _role_value(lambda role: str(role.path.absolute())),
    "role_name": _role_value(lambda role: role.short_name),
    "ansible_role_name": _role_value(lambda role: role.name),
    "ansible_parent_role_names": _role_value(
        lambda role: list(reversed(role.parents)) if role.parents else MISSING
    ),
    "ansible_parent_role_paths": _role_value(
        lambda role: [str(path) for path in reversed(role.parent_paths)] or MISSING
    ),
    "playbook_dir": lambda scope: (
        str(scope.play.play.directory.absolute()) if scope.play else os.getcwd()
    ),
    "playrunner_project": lambda scope: str(Path.cwd()),  # the project's own folder
    "playrunner_code": lambda scope: str(project.CODE),  # holds the trainer's package
    "playrunner_program": lambda scope: project.program(),  # what a user types before a verb
    "ansible_play_name": lambda scope: scope.play.play.name if scope.play else MISSING,
    "ansible_search_path": lambda scope: [str(path) for path in scope.search_path("")],
}
