"""What the storage modules share: fields that cannot be changed later, and what a service does with
a thing meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playrunner.hostside.module import Failed
from playrunner.hostside.state import State

MOVING = ("creating", "updating", "deleting")


def given(**fields: Any) -> dict[str, Any]:
    """Those fields that the declaration speaks of."""
    return {name: value for name, value in fields.items() if value is not None}


def refuse_changes(what: str, current: State | None, fixed: Mapping[str, Any]) -> None:
    """Complain when something that is decided at creation was declared otherwise since."""
    for name, wanted in fixed.items() if current is not None else ():
        value = (current or {}).get(name)
        if isinstance(wanted, dict) and isinstance(value, dict):
            refuse_changes(what, value, wanted)
        elif value != wanted:
            having = "without" if value is None else f"with {value!r} as"
            raise Failed(
                f"{what} was made {having} {name}, and this cannot be changed to {wanted!r} later;"
                " give the new one another name, or delete this one first"
            )


def same_key(current: str | None, wanted: str | None) -> str | None:
    """The wanted key as the service spells it: the ARN it shows ends with the key's id."""
    return current if wanted and current and current.endswith(f"/{wanted}") else wanted


def life_cycle(state: State, key: str) -> str | None:
    """What the service is doing with it, when it is doing something."""
    word = str(state.get(key) or "")
    return word if word.lower() in MOVING else None
