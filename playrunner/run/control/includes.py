"""Includes: loads the steps of a file or role while a play runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import StepFailed
from playrunner.frozen import frozen
from playrunner.model import AFTER_ITS_INCLUDES, NONE, Keywords, Node, Play, Role, RoleMention, Step
from playrunner.playbook.arguments import as_bool
from playrunner.playbook.keywords import read_keywords
from playrunner.playbook.roles import RoleList, import_role, role_parts
from playrunner.playbook.steps import find_step_file, load_step_file
from playrunner.playbook.surroundings import Imported, Surroundings
from playrunner.run.inflight import LoopItem
from playrunner.run.run_state import RunState
from playrunner.text.documents import Located

# Each level takes about ten stack frames of Python's thousand; a file may retry by including itself
MOST_NESTED_INCLUDES = 50


@frozen
class IncludedSteps:
    """The steps that an include adds, with their variables and handlers."""

    nodes: tuple[Node, ...]
    params: Mapping[str, Any]
    handlers: tuple[Node, ...] = ()
    roles: tuple[Role, ...] = ()  # whose variables stay visible after the include


def included_nodes(
    shared: RunState,
    play: Play,
    step: Step,
    item: LoopItem,
    number: int,
    mentions: list[RoleMention],
) -> IncludedSteps:
    """Load what an include names; the positions of its steps are below its own."""
    assert item.values
    include: Mapping[str, Any] = item.values["include"]
    if len(step.position) > 2 * MOST_NESTED_INCLUDES:
        raise StepFailed(
            f"{step.place}: includes are nested more than {MOST_NESTED_INCLUDES} deep;"
            " a file that includes itself needs a condition that ends it"
        )
    keywords = _applied(include.get("apply")).under(step.outer or NONE)
    of_file = step.module == "play.include_tasks"
    # A file is loaded once for all hosts; what one of them included does not count there
    imported = Imported([], [], list(play.mentions) if of_file else mentions)
    in_handler = AFTER_ITS_INCLUDES in step.position
    around = Surroundings(
        step.directory,
        play.directory,
        keywords,
        step.role,
        (*step.position, number),
        import_role=import_role,
        imported=imported,
        rescued=True,  # the hosts are at work: what is wrong fails in its turn
        known=(shared.run_vars.extra, step.params, play.vars),
    )
    params = step.params
    if of_file:
        path = find_step_file(str(include["file"]), step.place, around)
        nodes, imported = shared.cached(
            (path, around.prefix, id(step)),
            lambda: (load_step_file(path, replace(around, handlers=in_handler)), imported),
        )
        return IncludedSteps(nodes, params, tuple(imported.handlers), tuple(imported.roles))
    roles = RoleList(around, mentions)
    roles.add(
        str(include["name"]),
        step.place,
        parts=role_parts(include),
        by_task=step.keywords.vars,
        again=as_bool(include.get("allow_duplicates", True)),
        included=True,
    )
    config = ansible_config()
    public = include.get("public")
    if "public" not in step.arguments:
        public = "private_role_vars" in config and not config.flag("private_role_vars")
    return IncludedSteps(
        tuple(roles.nodes),
        params,
        (*roles.handlers, *imported.handlers),
        (*(replace(role, public=True) for role in roles.roles if public), *imported.roles),
    )


def _applied(apply: Any) -> Keywords:
    if not apply:
        return NONE
    if isinstance(apply, Located):
        return read_keywords(apply)
    located = Located(apply)
    located.key_lines = {}
    return read_keywords(located)
