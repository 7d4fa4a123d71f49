"""The clouds an inventory uses (its variable `cloud`: aws, gcp or both), and the roles that create
resources there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from playrunner import project
from playrunner.errors import BadInput

if TYPE_CHECKING:
    from playrunner.options import Options
    from playrunner.variables.scope import Scope

CLOUDS = ("aws", "gcp")
_CLUSTER = re.compile(r"^\s+(?:- )?(?:aws\.eks|gcp\.gke)_cluster:", re.MULTILINE)
_MODULE = re.compile(r"^\s+(?:- )?(aws|gcp|k8s)\.\w+:", re.MULTILINE)


def chosen_clouds(options: Options) -> tuple[str, ...]:
    """The clouds of the chosen inventory; AWS by default."""
    from playrunner.variables.asked_inventory import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import RunVariables
    from playrunner.variables.scope import Scope
    from playrunner.variables.templating import default_templar

    inventory = open_inventory(options)
    return clouds_of(
        Scope(
            RunVariables(inventory, default_templar, read_extra_vars(options.extra_vars), {}),
            "localhost",
        )
    )


def clouds_of(scope: Scope) -> tuple[str, ...]:
    from playrunner.variables.templating import MISSING

    value: Any = scope.lookup("cloud")
    if value is MISSING or not value:
        return ("aws",)
    names = [value] if isinstance(value, str) else list(value)
    unknown = [name for name in names if name not in CLOUDS]
    if unknown:
        raise BadInput(
            f"the variable cloud must be {' or '.join(CLOUDS)}, or a list of them,"
            f' not "{unknown[0]}"'
        )
    return tuple(str(name) for name in names)


def cloud_roles(clouds: Iterable[str] = CLOUDS) -> list[str]:
    """The roles that make things in one of these clouds, or in a cluster, wherever that is; those
    that make the cluster first.

    A role that puts something into a cluster reads what the cluster's role created, so it comes
    later; deletion goes in reverse order.
    """
    requested, ordered = set(clouds), []
    for role, folder in project.role_folders().items():
        if not (folder / "tasks" / "main.yaml").is_file():
            continue
        text = "\n".join(file.read_text() for file in (folder / "tasks").glob("*.yaml"))
        named = set(_MODULE.findall(text))
        if named & requested or (named and not named & set(CLOUDS)):
            ordered.append((_CLUSTER.search(text) is None, role))
    return [name for _, name in sorted(ordered)]
