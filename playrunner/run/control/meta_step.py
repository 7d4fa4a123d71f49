"""meta steps: flush_handlers, end_play, end_batch, end_host, clear_facts, reset_connection, ..."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from playrunner.errors import NotYet
from playrunner.model import AFTER_ITS_INCLUDES, Role, Step
from playrunner.results import Result
from playrunner.run import step_traits
from playrunner.run.batch import HostEnded, Outcome, PlayEnded
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.run.host_run import HostRun

_AFTER_PENDING_STEPS = ("end_host", "reset_connection")
_UNCONDITIONAL = ("noop", "refresh_inventory")  # whatever `when` says, as with Ansible
# What a report says of each: done, and after "conditional evaluated to False"
_SAID = {
    "flush_handlers": (
        "triggered running handlers for {host}",
        ", not running handlers for {host}",
    ),
    "refresh_inventory": ("inventory successfully refreshed", ""),
    "clear_facts": ("facts cleared", ", not clearing facts and fact cache for {host}"),
    "clear_host_errors": ("cleared host errors", ", not clearing host error state for {host}"),
    "end_batch": ("ending batch", ", continuing current batch"),
    "end_play": ("ending play", ", continuing play"),
    "end_host": ("ending play for {host}", ", continuing execution for {host}"),
    "end_role": ("ending role {role} for {host}", "continuing role {role} for {host}"),
    "reset_connection": ("reset connection", ""),
}


def run_meta(run: HostRun, step: Step, scope: Scope) -> None:
    action = step_traits.meta_action(step)
    if action in step_traits.META_FOR_ALL:
        _run_for_all(run, step, scope, action)
        return
    holds = action in _UNCONDITIONAL or _holds(run, step, scope)
    _report(run, step, action, holds)
    if not holds:
        return
    if action in _AFTER_PENDING_STEPS:
        run.wait_for_steps()
    if action == "flush_handlers":
        run.flush_handlers(step.position)
    elif action == "end_host":
        raise HostEnded
    elif action == "end_role":
        run.ended_role = step.role
    elif action == "reset_connection":
        run.dispatcher.reset(run.starter.requests.agent_key(step, scope))


def in_ended_role(run: HostRun, step: Step, ended: Role) -> bool:
    """Whether a step is left out, being of the role that `meta: end_role` ended."""
    if AFTER_ITS_INCLUDES in step.position:
        return False  # a handler, notified before the role ended
    inside = step.role is ended or (step.role is not None and ended.name in step.role.parents)
    if not inside:
        run.ended_role = None
    return inside


def _report(run: HostRun, step: Step, action: str, holds: bool) -> None:
    """Reports show it where ansible-core does; it is no result, and the recap leaves it out."""
    if run.shared.survey:
        return
    done, otherwise = _SAID.get(action, (action, ""))
    role = step.role.name if step.role else ""
    values: dict[str, object] = {"changed": False, "msg": done.format(host=run.host, role=role)}
    if not holds:
        reason = f"{action} conditional evaluated to False{otherwise}"
        reason = reason.format(host=run.host, role=role)
        values = {"msg": action, "skip_reason": reason, "skipped": True}
        if action == "end_host":
            values["msg"] = reason.replace("False", "false")
    status = "ok" if holds else "skipped"
    result = Result(run.host, step.title, step.module, status, values, place=step.place)
    run.shared.report.add_meta(replace(result, position=step.position, play=run.shared.play_number))


def _holds(run: HostRun, step: Step, scope: Scope) -> bool:
    """Whether it acts. Where only a run can tell, it does not: what follows is foreseen, too."""
    try:
        return step_traits.condition_holds(step, scope)
    except NotYet as error:
        if run.shared.survey:
            return False
        if not run.shared.options.check:
            raise
        values = {"unknown": True, "changed": False, "msg": str(error)}
        result = Result(run.host, step.title, step.module, "unknown", values, place=step.place)
        number = run.shared.play_number
        run.shared.add_result(replace(result, position=step.position, play=number))
        return False


def _run_for_all(run: HostRun, step: Step, scope: Scope, action: str) -> None:
    """The first host's condition decides for all of them, like with Ansible."""
    run.wait_for_steps()
    if run.batch.meet(run.host, step.position) == run.host:
        holds = False
        try:
            holds = action in _UNCONDITIONAL or _holds(run, step, scope)
            _report(run, step, action, holds)
            if holds:
                _act(run, step, action)
        finally:
            run.batch.publish_result(step.position, Outcome({"holds": holds}))
    else:
        holds = run.batch.wait_for_result(step.position).values["holds"]
    if holds and action in ("end_play", "end_batch"):
        raise PlayEnded
    if action == "refresh_inventory":
        run.starter.requests.forget_targets()
        if run.host != "localhost" and run.host not in run.shared.run_vars.inventory.hosts:
            raise HostEnded


def _act(run: HostRun, step: Step, action: str) -> None:
    shared, batch = run.shared, run.batch
    if action in ("end_play", "end_batch"):
        batch.ended_at = step.position
        shared.play_ended = shared.play_ended or action == "end_play"
    elif action == "clear_facts":
        for host in batch.hosts:
            shared.run_vars.memory(host).clear_facts(step.position)
            shared.run_vars.keep_facts(host)
    elif action == "refresh_inventory":
        from playrunner.variables.asked_inventory import open_inventory

        inventory = open_inventory(shared.options)
        inventory.add_again(shared.run_vars.inventory)
        shared.run_vars.inventory = inventory.with_adjacent(run.play.directory)
    elif action == "clear_host_errors":
        shared.errors_cleared = True
        shared.failed_hosts.clear()
        shared.ended_badly.clear()
        shared.lost_hosts.clear()
        batch.clear_errors()
