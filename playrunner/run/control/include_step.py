"""include_tasks and include_role on one host: what they name is loaded and run in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from playrunner.errors import BadInput, NoSuchRole, NoSuchTasks, NotDecrypted, NotLoaded, StepFailed
from playrunner.model import Step
from playrunner.run.control.blocks import run_included
from playrunner.run.control.includes import IncludedSteps, included_nodes
from playrunner.run.inflight import LoopItem
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.run.host_run import HostRun


def run_include(run: HostRun, step: Step, scope: Scope) -> None:
    """All items are loaded before the steps of the first one run, as in Ansible."""
    walks_along = False
    if run.flag(step.keywords.run_once, scope):
        walks_along = run.batch.meet(run.host, step.position) != run.host
        if walks_along and not _applies_run_once(step):
            return
    inflight = run.starter.start(step, scope)
    inflight.silent = walks_along or run.resuming.enters(step.position)
    # Before the include is pending: what it waits for must not report it as done
    run.pending.wait_for_files()
    run.pending.add(inflight)
    if inflight.known_failure():
        run.wait_for_steps()
    with inflight.censoring():
        taken = [
            (item, _load(run, step, item, number))
            for number, item in enumerate(inflight.items)
            if item.values and item.values.get("include") is not None
        ]
    nodes = [node for _, included in taken for node in included.nodes]
    run.pending.files.pass_include(step, nodes)
    for item, included in taken:
        run.handlers.add(included.handlers)
        for role in included.roles:
            run.variables.add_role(role)
        with run.scopes.inside(item.local, included.params):
            run_included(run, included.nodes)


def _applies_run_once(step: Step) -> bool:
    """`run_once` at an include leaves its steps to the first host. Where it is applied to them as
    well, all hosts walk through: each step runs once and gives all hosts its facts."""
    apply = step.arguments.get("apply")
    return isinstance(apply, Mapping) and bool(apply.get("run_once"))


def _load(run: HostRun, step: Step, item: LoopItem, number: int) -> IncludedSteps:
    try:
        return included_nodes(run.shared, run.play, step, item, number, run.mentions)
    except (NoSuchRole, NoSuchTasks, NotDecrypted, StepFailed) as error:
        item.values = {"failed": True, "changed": False, "msg": str(error), **item.local}
        run.wait_for_steps()  # reports the failure, which stops this host or is rescued
        raise
    except BadInput as error:
        raise NotLoaded(error.message, error.place) from None
