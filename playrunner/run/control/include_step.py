"""include_tasks and include_role on one host: what they name is loaded and run in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.errors import PlayrunnerError
from playrunner.model import Node, Step
from playrunner.run.control.blocks import run_included
from playrunner.run.control.includes import IncludedSteps, included_nodes
from playrunner.run.inflight import LoopItem
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.run.host_run import HostRun


def run_include(run: HostRun, step: Step, scope: Scope) -> None:
    inflight = run.starter.start(step, scope)
    run.pending.add(inflight)
    if inflight.known_failure():
        run.wait_for_steps()
    taken: tuple[Node, ...] = ()
    for number, item in enumerate(inflight.items):
        if item.values and item.values.get("include") is not None:
            run.batch.starts(run.host, (*step.position, number))
            with inflight.censoring():
                included = _load(run, step, item, number)
            taken = (*taken, *included.nodes)
            run.pending.files.pass_item(step, number, included.nodes)
            run.handlers.add(included.handlers)
            for role in included.roles:
                run.variables.add_role(role)
            with run.scopes.inside(item.loop_variables(), included.params):
                run_included(run, included.nodes)
    run.pending.files.pass_include(step, taken)


def _load(run: HostRun, step: Step, item: LoopItem, number: int) -> IncludedSteps:
    try:
        run.pending.wait_for_files()
        return included_nodes(run.shared, run.play, step, item, number)
    except PlayrunnerError as error:
        item.values = {"failed": True, "changed": False, "msg": str(error), **item.local}
        run.wait_for_steps()  # reports the failure, which stops this host or is rescued
        raise
