"""The names of facts that a step returns: their prefix, and those that no host may set."""

from __future__ import annotations

from playrunner.playbook import external_modules, module_index
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.variables.origins import named_facts, without_settings

# Where the facts of modules go whose values the playbook's author wrote
FACT_LAYERS = {"play.set_fact": "registered", "play.include_vars": "included"}


def filter_facts(inflight: InFlightStep, item: LoopItem, host: str) -> None:
    """Give facts their `ansible_` prefix, and drop those that are settings of the runner or of
    a connection."""
    facts = (item.values or {}).get("ansible_facts")
    if not item.values or not isinstance(facts, dict) or inflight.step.module in FACT_LAYERS:
        return
    own = not external_modules.is_external(inflight.step.module)
    if own and module_index.runs_on_host(inflight.step.module):
        plain = module_index.module_class(inflight.step.module).plain_facts
        facts = named_facts(facts, plain)
    item.values["ansible_facts"], refused = without_settings(facts)
    if refused:
        warnings = item.values.get("warnings")
        shown = f"{', '.join(refused[:5])}{', ...' if len(refused) > 5 else ''}"
        item.values["warnings"] = [
            *(warnings if isinstance(warnings, list) else ()),
            (
                f"ignored facts of {inflight.delegated_to or host}: they name settings"
                f" that only a playbook or an inventory may set: {shown}"
            ),
        ]
