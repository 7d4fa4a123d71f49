"""Steps that a run did again: after a pod or a node was lost it goes on from its newest complete
checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.frozen import frozen


@frozen
class Setback:
    reached: int  # the last step before it
    resumed: int  # the first step after it

    @property
    def lost(self) -> int:
        return self.reached - self.resumed + 1


def setbacks(records: Iterable[Mapping[str, Any]]) -> list[Setback]:
    """Read from the metrics in the order in which they were measured; steps that are not logged are
    not seen."""
    setbacks_found: list[Setback] = []
    reached = 0
    for record in sorted(records, key=lambda each: float(each.get("time") or 0.0)):
        step = int(record["step"])
        if step <= reached:
            setbacks_found.append(Setback(reached, step))
        reached = step
    return setbacks_found


def setbacks_text(setbacks_found: list[Setback]) -> str:
    """In one sentence; nothing where nothing was done again."""
    if not setbacks_found:
        return ""
    each = ", ".join(f"{one.reached} back to {one.resumed - 1}" for one in setbacks_found)
    again = sum(one.lost for one in setbacks_found)
    return (
        f"set back {len(setbacks_found)} time{'s' * (len(setbacks_found) != 1)}: {again} steps"
        " were done again (from"
        f" {each})"
    )
