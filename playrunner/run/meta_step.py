"""meta steps: flush_handlers, end_play, end_batch, end_host, clear_facts, reset_connection, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.model import Step
from playrunner.run import step_traits
from playrunner.run.batch import HostEnded, PlayEnded
from playrunner.variables.scope import Scope

if TYPE_CHECKING:
    from playrunner.run.host_run import HostRun

_AFTER_PENDING_STEPS = (
    "end_play",
    "end_batch",
    "end_host",
    "clear_facts",
    "clear_host_errors",
    "reset_connection",
)


def run_meta(run: HostRun, step: Step, scope: Scope) -> None:
    action = str(step.arguments.get("action", "")).strip()
    if not step_traits.condition_holds(step, scope):
        return
    if action in _AFTER_PENDING_STEPS:
        run.wait_for_steps()
    if action == "flush_handlers":
        run.flush_handlers(step.position)
    elif action in ("end_play", "end_batch"):
        run.batch.ended = True
        run.shared.play_ended = run.shared.play_ended or action == "end_play"
        raise PlayEnded
    elif action == "end_host":
        raise HostEnded
    elif action == "clear_facts":
        run.memory.facts.clear()
    elif action == "reset_connection":
        run.dispatcher.reset(run.starter.requests.agent_key(step, scope))
    elif action == "clear_host_errors":
        run.shared.failed_hosts.clear()
