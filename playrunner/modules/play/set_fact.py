"""play.set_fact: variables of the host that last for the rest of the run."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.module import Failed, Probe
from playrunner.playbook.arguments import as_bool
from playrunner.run.context import Context
from playrunner.text.variable_names import RULE, is_variable_name


class SetFact(Probe):
    """Variables of the host that last for the rest of the run: `set_fact: {name: value}`."""

    in_memory = True
    takes_any = True
    gives_facts = True

    def look(self, ctx: Context) -> dict[str, Any]:
        facts = {name: value for name, value in self.__dict__.items() if name != "cacheable"}
        kept = as_bool(self.__dict__.get("cacheable", False))
        for name in facts:
            if not is_variable_name(name):
                raise Failed(f"Invalid variable name {name!r}: {RULE}")
        if not facts:
            raise Failed("set_fact needs at least one name and value")
        return {"ansible_facts": facts, **({"_ansible_facts_cacheable": True} if kept else {})}
