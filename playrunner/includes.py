"""Includes: the steps a file or role brings in while a play runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playrunner.documents import Located
from playrunner.flight import Turn
from playrunner.load.roles import RoleList
from playrunner.load.steps import Surroundings, find_step_file, load_step_file, role_parts
from playrunner.load.words import read_keywords
from playrunner.model import Keywords, Node, Step

if TYPE_CHECKING:
    from playrunner.strand import Strand


@dataclass(frozen=True)
class Brought:
    """What an include stands for."""

    nodes: tuple[Node, ...]
    params: Mapping[str, Any]


def included_nodes(strand: Strand, step: Step, turn: Turn, number: int) -> Brought:
    """Load what an include names; its steps stand below its own position."""
    assert turn.values
    given: Mapping[str, Any] = turn.values["include"]
    play = strand.play
    keywords = _applied(given.get("apply")).under(step.outer or Keywords())
    around = Surroundings(step.directory, play.directory, keywords, step.role, (*step.position, number))
    params = {name: value for layer in step.keywords.vars for name, value in layer.items()}
    if step.module == "play.include_tasks":
        path = find_step_file(str(given["file"]), step.place, around)
        return Brought(strand.run.cached((path, around.prefix, id(step)), lambda: load_step_file(path, around)), params)
    roles = RoleList(around)
    roles.add(str(given["name"]), step.place, parts=role_parts(given),
              again=bool(given.get("allow_duplicates", True)))
    strand.handlers.add(tuple(roles.handlers))
    if given.get("public"):
        for role in roles.roles:
            strand.variables.add_role(role)
    return Brought(tuple(roles.nodes), params)


def _applied(apply: Any) -> Keywords:
    if not apply:
        return Keywords()
    if isinstance(apply, Located):
        return read_keywords(apply)
    located = Located(apply)
    located.key_lines = {}
    return read_keywords(located)


