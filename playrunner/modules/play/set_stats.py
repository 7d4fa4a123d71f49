"""play.set_stats: values that stand beside the counts of a run."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context
from playrunner.text.variable_names import RULE, is_variable_name


class SetStats(Probe):
    """Values that stand beside the counts of a run, under `ansible_stats` of the step's result."""

    in_memory = True
    keyed = ("data",)
    data: dict[str, Any]  # names and values
    per_host: bool = False  # they belong to the host, not to the whole run
    aggregate: bool = True  # add to values of the same name instead of replacing them

    def look(self, ctx: Context) -> dict[str, Any]:
        for name in self.data:
            if not is_variable_name(name):
                raise Failed(f'"{name}" cannot be a variable name: {RULE}')
        return {
            "ansible_stats": {
                "data": dict(self.data),
                "per_host": self.per_host,
                "aggregate": self.aggregate,
            }
        }
