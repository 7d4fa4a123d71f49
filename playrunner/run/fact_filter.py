"""Which facts of a result are kept: not those that name settings of the runner or a connection."""

from __future__ import annotations

from playrunner.playbook import module_index
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.variables.origins import without_settings

# Where the facts of modules go whose values the playbook's author wrote
AUTHORED_LAYERS = {"play.set_fact": "registered", "play.include_vars": "included"}


def filter_facts(inflight: InFlightStep, item: LoopItem, host: str) -> None:
    """Give facts their `ansible_` prefix, and drop those that are settings of the runner or of
    a connection."""
    facts = (item.values or {}).get("ansible_facts")
    if not item.values or not isinstance(facts, dict) or inflight.step.module in AUTHORED_LAYERS:
        return
    if module_index.runs_on_host(inflight.step.module):
        facts = {
            name if name.startswith("ansible_") else f"ansible_{name}": value
            for name, value in facts.items()
        }
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
