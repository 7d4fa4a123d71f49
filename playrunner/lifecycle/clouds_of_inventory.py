"""Which clouds an inventory is about (its variable `cloud`: aws, gcp or both), and which roles make
things there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playrunner.errors import BadInput

if TYPE_CHECKING:
    from playrunner.options import Options
    from playrunner.variables.scope import Scope

CLOUDS = ("aws", "gcp")
_CLUSTER = re.compile(r"^\s+(?:- )?(?:aws\.eks|gcp\.gke)_cluster:", re.MULTILINE)
_MODULE = re.compile(r"^\s+(?:- )?(aws|gcp|k8s)\.\w+:", re.MULTILINE)


def chosen(options: Options) -> tuple[str, ...]:
    """Those of the inventory that is meant; without a word about it, AWS."""
    from playrunner.playbook.keywords import templar
    from playrunner.run.run import open_inventory
    from playrunner.variables.extra_vars import read_extra_vars
    from playrunner.variables.host_memory import World
    from playrunner.variables.scope import Scope

    inventory = open_inventory(options)
    return clouds_of(
        Scope(World(inventory, templar, read_extra_vars(options.extra_vars), {}), "localhost")
    )


def clouds_of(scope: Scope) -> tuple[str, ...]:
    from playrunner.variables.templating import MISSING

    said: Any = scope.lookup("cloud")
    names = (
        ["aws"] if said is MISSING or not said else [said] if isinstance(said, str) else list(said)
    )
    unknown = [name for name in names if name not in CLOUDS]
    if unknown:
        raise BadInput(
            f'the variable cloud takes {" or ".join(CLOUDS)}, or a list of them, not "{unknown[0]}"'
        )
    return tuple(str(name) for name in names)


def cloud_roles(folder: Path, clouds: Iterable[str] = CLOUDS) -> list[str]:
    """The roles that make things in one of these clouds, or in a cluster, wherever that is; those
    that make the cluster first.

    What a role puts into a cluster reads what the role of the cluster made, so it must stand behind
    it: also on the way out, which goes backwards.
    """
    wanted, found = set(clouds), []
    for main in folder.glob("*/tasks/main.yaml"):
        text = "\n".join(file.read_text() for file in main.parent.glob("*.yaml"))
        named = set(_MODULE.findall(text))
        if named & wanted or (named and not named & set(CLOUDS)):
            found.append((_CLUSTER.search(text) is None, main.parent.parent.name))
    return [name for _, name in sorted(found)]
