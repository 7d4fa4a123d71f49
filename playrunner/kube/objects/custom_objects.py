"""Objects that would go with the definition of their kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playrunner.kube.client.client import Kube
from playrunner.kube.client.resource import defined_by

_ENDED = ("Completed", "Complete", "Succeeded", "Failed", "Aborted", "Terminated")
MOST_NAMED = 3


def live_objects(kube: Kube, definitions: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each kind that has some: how many, and which. Those that have ended, that others
    own, and of kinds without a namespace (an operator's own) are not counted."""
    lines = []
    for definition in definitions:
        served = [one for one in defined_by(definition) if one.namespaced]
        objects = [obj for obj in kube.listing(served[-1]).items if _lives(obj)] if served else []
        if objects:
            names = [f"{obj['metadata']['namespace']}/{obj['metadata']['name']}" for obj in objects]
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            lines.append(
                f"{len(objects)} {served[-1].spelled}:"
                f" {', '.join(sorted(names)[:MOST_NAMED])}{more}"
            )
    return lines


def _lives(thing: Mapping[str, Any]) -> bool:
    status = thing.get("status") or {}
    state = status.get("state")
    phase = str(state.get("phase") if isinstance(state, Mapping) else status.get("phase") or "")
    ended = phase in _ENDED or any(
        one.get("type") in _ENDED and str(one.get("status")) == "True"
        for one in status.get("conditions") or ()
    )
    return not ended and not (thing["metadata"].get("ownerReferences") or ())
