"""The plan of a deletion as a tree: what stands below a resource uses it and is deleted before
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playrunner.cloud.resource import Refused, Unanswered
from playrunner.leftovers import Leftover
from playrunner.run.inflight import InFlightStep
from playrunner.run.survey import FoundResource, Survey

# How the names of fields end that identify a resource in its service
_IDENTIFIERS = ("id", "arn", "name", "selflink")


def plan_tree(survey: Survey, resources: Sequence[FoundResource]) -> list[dict[str, Any]]:
    """A node for each step, with the resources of it that would be deleted; the nodes below it are
    of steps that read what it registered. A step that reads several is below the last of them."""
    planned = {id(resource.inflight): resource.inflight for resource in resources}
    steps = [step for step in survey.inflight_steps if id(step) in planned]
    parents: dict[int, InFlightStep] = {}
    for step in steps:  # in play order, so that the last one read is what remains
        for user in survey.users_of(step, resources):
            if user.inflight is not step:
                parents[id(user.inflight)] = step
    nodes = {id(step): _node(step, resources) for step in steps}
    roots: list[dict[str, Any]] = []
    for step in steps:
        parent = parents.get(id(step))
        (nodes[id(parent)]["below"] if parent else roots).append(nodes[id(step)])
    return roots


def add_others(tree: Sequence[dict[str, Any]], others: Sequence[Leftover]) -> None:
    """Put the things of others below the network that they are in."""
    for node in tree:
        networks = {thing["id"] for thing in node["things"]}
        node["others"] = [
            {"thing": str(other), "id": other.id, "contents": other.contents, "why": other.why}
            for other in others
            if other.vpc and other.vpc in networks
        ]
        add_others(node["below"], others)


def identifiers(resource: FoundResource) -> list[str]:
    """The names by which its service and an audit know it."""
    return sorted(
        {
            value
            for key, value in (resource.found or {}).items()
            if isinstance(value, str) and value and key.lower().endswith(_IDENTIFIERS)
        }
    )


def contents_of(resource: FoundResource) -> str:
    """How much is in it; a plan is made also where looking inside is denied."""
    try:
        return str(resource.module.contents(resource.ctx, resource.found or {}))
    except (Refused, Unanswered) as error:
        return f"holds what cannot be looked at ({error})"


def role_of(resource: FoundResource) -> str:
    return resource.step.role.name if resource.step.role else ""


def _node(step: InFlightStep, resources: Sequence[FoundResource]) -> dict[str, Any]:
    own = [resource for resource in resources if resource.inflight is step]
    return {
        "role": role_of(own[0]),
        "module": step.step.module,
        "things": [
            {
                "thing": resource.title,
                "id": resource.module.label(resource.found or {}),
                "contents": contents_of(resource),
            }
            for resource in own
        ],
        "below": [],
    }
