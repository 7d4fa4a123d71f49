"""The inventory of a run, remembered by this machine: a verb that names the run needs no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playrunner.options import Options
from playrunner.training.runs.record import Record
from playrunner.variables.asked_inventory import inventory_sources

KEY = "inventory"


def used_inventory(options: Options) -> list[str]:
    """The sources in use, by paths that hold in every folder."""
    return [
        str(Path(source).resolve()) if Path(source).exists() else source
        for source in inventory_sources(options)
    ]


def with_inventory(options: Options, run: str) -> Options:
    """The options with the inventory that the run was launched with, unless they name one."""
    if options.inventory or not run:
        return options
    sources = Record(run).job().get(KEY)
    if not isinstance(sources, list) or not all(isinstance(each, str) for each in sources):
        return options
    if not all("," in each or Path(each).exists() for each in sources):
        return options  # moved or deleted since
    return replace(options, inventory=tuple(sources))
