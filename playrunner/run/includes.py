"""Includes: the steps a file or role brings in while a play runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from playrunner.errors import StepFailed
from playrunner.model import NONE, Keywords, Node, Play, Role, Step
from playrunner.playbook.keywords import read_keywords
from playrunner.playbook.roles import RoleList, bring_role, role_parts
from playrunner.playbook.steps import Surroundings, find_step_file, load_step_file
from playrunner.run.inflight import Turn
from playrunner.run.run_state import Shared
from playrunner.text.documents import Located

# Each takes some ten calls of the interpreter's thousand; a file may retry by including itself
MOST_NESTED_INCLUDES = 50


@dataclass(frozen=True)
class Brought:
    """What an include stands for."""

    nodes: tuple[Node, ...]
    params: Mapping[str, Any]
    handlers: tuple[Node, ...] = ()
    roles: tuple[Role, ...] = ()  # whose variables stay visible after the include


def included_nodes(shared: Shared, play: Play, step: Step, turn: Turn, number: int) -> Brought:
    """Load what an include names; its steps stand below its own position."""
    assert turn.values
    given: Mapping[str, Any] = turn.values["include"]
    if len(step.position) > 2 * MOST_NESTED_INCLUDES:
        raise StepFailed(
            f"{step.place}: includes stand inside each other more than {MOST_NESTED_INCLUDES} deep;"
            " one that includes itself needs a condition that ends it"
        )
    keywords = _applied(given.get("apply")).under(step.outer or NONE)
    if step.keywords.run_once is not None:
        keywords = replace(keywords, run_once=step.keywords.run_once)
    around = Surroundings(
        step.directory,
        play.directory,
        keywords,
        step.role,
        (*step.position, number),
        bring_role=bring_role,
    )
    params = step.params
    if step.module == "play.include_tasks":
        path = find_step_file(str(given["file"]), step.place, around)
        return Brought(
            shared.cached((path, around.prefix, id(step)), lambda: load_step_file(path, around)),
            params,
        )
    roles = RoleList(around, list(play.mentions))
    roles.add(
        str(given["name"]),
        step.place,
        parts=role_parts(given),
        again=bool(given.get("allow_duplicates", True)),
    )
    return Brought(
        tuple(roles.nodes),
        params,
        tuple(roles.handlers),
        tuple(roles.roles) if given.get("public") else (),
    )


def _applied(apply: Any) -> Keywords:
    if not apply:
        return NONE
    if isinstance(apply, Located):
        return read_keywords(apply)
    located = Located(apply)
    located.key_lines = {}
    return read_keywords(located)
