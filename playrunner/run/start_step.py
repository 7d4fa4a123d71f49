"""StepStarter: sends a step to an agent, or runs it on the controller, item by item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from playrunner.config.ansible_config import ansible_config
from playrunner.errors import (
    BadInput,
    HostUnreachable,
    NotYet,
    PlayrunnerError,
    RunRefused,
    RunStopped,
    StepFailed,
    UndefinedVariable,
)
from playrunner.model import Step
from playrunner.playbook import keyword_values, module_index
from playrunner.run.async_jobs import AsyncJobs
from playrunner.run.background import side_by_side
from playrunner.run.batch import Batch
from playrunner.run.control.conditions import satisfied
from playrunner.run.control.failure_values import failure_values
from playrunner.run.control.foreseen import unknown_facts
from playrunner.run.control.ignored import read_ignored
from playrunner.run.control.loops import loop_items
from playrunner.run.controller_step import ControllerSteps
from playrunner.run.host_request import HostRequests, delegate
from playrunner.run.inflight import InFlightStep, LoopItem
from playrunner.run.run_state import RunState
from playrunner.run.step_traits import condition_holds, in_background, is_awaited
from playrunner.run.survey import NOT_SURVEYED
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.ssh.file_uploads import is_secret_source
from playrunner.ssh.targets import CONNECTION_NAMES
from playrunner.text.written import is_template
from playrunner.variables.keyword_text import rendered_keyword
from playrunner.variables.scope import Scope
from playrunner.variables.templating import MISSING
from playrunner.variables.waiter import Waiter
from playrunner.vault.masking import masking

SKIPPED = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
MOST_DELAY_SECONDS = 3600.0


class StepStarter:
    """Starts the steps of one host."""

    def __init__(
        self,
        shared: RunState,
        batch: Batch,
        dispatcher: AgentDispatcher,
        host: str,
        waiter: Waiter,
        sleep: Callable[[float], None],
    ) -> None:
        self.shared, self.batch, self.dispatcher, self.host, self.waiter = (
            shared,
            batch,
            dispatcher,
            host,
            waiter,
        )
        self.requests = HostRequests(shared)
        self._jobs = AsyncJobs(dispatcher, batch.sleep)
        self.controller = ControllerSteps(
            shared, self.requests, dispatcher, host, waiter, batch.sleep, sleep
        )

    def start(self, step: Step, scope: Scope) -> InFlightStep:
        if is_awaited(step):
            self.waiter.wait_for_steps()
        inflight = InFlightStep(step, step.title, looped=step.loop is not None)
        self.fill(inflight, scope)
        return inflight

    def fill(self, inflight: InFlightStep, scope: Scope) -> None:
        """Add the step's loop items, each started or done."""
        with inflight.censoring():
            self._fill(inflight, scope)

    def _fill(self, inflight: InFlightStep, scope: Scope) -> None:
        step = inflight.step
        try:
            inflight.hidden = self._is_hidden(step, scope)
            inflight.title = step.title if inflight.hidden else _title(step, scope)
            read_ignored(inflight, self.requests.flag, scope)
            inflight.fatal = not inflight.ignored and self.requests.flag(
                step.keywords.any_errors_fatal, scope
            )
            items = map(inflight.labelled, self._loop_items(inflight, scope))
        except PlayrunnerError as error:
            inflight.looped = False
            inflight.items = [LoopItem(scope, values=self._problem(error, step, scope))]
            return
        if in_background(step):
            inflight.items = list(items)
            side_by_side(inflight.items, lambda item: self._finish_item(inflight, item))
            return
        self.shared.intend(self.host, step, inflight.title)
        for item in items:
            inflight.items.append(item)
            self._start_item(inflight, item)
            if self._breaks(step, item):
                break
        if inflight.looped and any(item.agent_request for item in inflight.items):
            self._fence(inflight)

    def _is_hidden(self, step: Step, scope: Scope) -> bool:
        """Whether no_log is set; where it depends on the loop item, the whole step is hidden."""
        try:
            no_log = rendered_keyword(step.keywords.no_log, scope)
            if no_log is None:
                return ansible_config().flag("no_log")
            return self.requests.flag(no_log, scope)
        except UndefinedVariable:
            if step.loop is None:
                raise
            return True

    def _loop_items(self, inflight: InFlightStep, scope: Scope) -> Iterator[LoopItem]:
        step = inflight.step
        if step.loop is None:
            return iter([LoopItem(scope)])
        try:
            return iter(loop_items(step.loop, scope, step, self.batch.sleep))
        except UndefinedVariable:
            # The loop may read a variable that is only defined when `when` holds.
            if step.keywords.when and not condition_holds(step, scope):
                inflight.looped = False
                return iter([LoopItem(scope, values={**SKIPPED})])
            raise

    def _start_item(self, inflight: InFlightStep, item: LoopItem) -> None:
        if item.values is not None:
            return
        step = inflight.step
        if not is_awaited(step):
            self._attempt(inflight, item)
            return
        try:
            throttle = step.keywords.throttle or 0
            limit = int(item.scope.run_vars.templar.render(throttle, item.scope))
        except (ValueError, TypeError, UndefinedVariable) as error:
            raise RunStopped(
                f"Failed to convert the throttle value to an integer: {error}", step.place
            ) from None
        if limit > 0:
            with self.batch.throttled(step.position, limit):
                self._finish_item(inflight, item)
        else:
            self._finish_item(inflight, item)

    def _finish_item(self, inflight: InFlightStep, item: LoopItem) -> None:
        try:
            self._attempts(inflight, item)
        except StepFailed as error:  # retries, delay, async or poll did not render to a number
            item.agent_request = None
            item.values = {**self._problem(error, inflight.step, item.scope), **item.local}

    def _attempts(self, inflight: InFlightStep, item: LoopItem) -> None:
        """Repeat the step until `until` holds, or `retries` is used up."""
        step = inflight.step
        most = (
            3
            if step.retries is None
            else keyword_values.whole("retries", step.retries, item.scope, step.place)
        )
        repeats = step.until is not None or step.retries is not None
        for number in range(1, (most + 1 if repeats else 1) + 1):
            item.attempts, item.values, item.agent_request = number, None, None
            self._attempt(inflight, item)
            self._wait(inflight, item)
            if satisfied(inflight, item) or not repeats:
                return
            if number <= most:
                delay = keyword_values.number("delay", step.delay, item.scope, step.place)
                self.shared.report.output(
                    self.host, f"{inflight.title}: attempt {number} of {most + 1}\n"
                )
                self.batch.sleep(min(delay, MOST_DELAY_SECONDS))
        assert item.values is not None
        item.attempts = most
        # Where there is a failed_when, it decides also after the last attempt.
        item.values["failed"] = bool(item.values.get("failed_when_result", True))

    def _wait(self, inflight: InFlightStep, item: LoopItem) -> None:
        try:
            item.wait(self.dispatcher)
        except (HostUnreachable, StepFailed) as error:
            item.values = self._problem(error, inflight.step, item.scope)
        if inflight.step.async_seconds and item.values and item.values.get("ansible_job_id"):
            key = self.requests.agent_key(inflight.step, item.scope)
            self._jobs.poll(inflight.step, item, key)
        if item.values is not None:
            item.values.update(item.local)

    def _attempt(self, inflight: InFlightStep, item: LoopItem) -> None:
        """Send the step to its host, or run it here; an error on the way becomes its result."""
        step, scope = inflight.step, item.scope
        item.conditions_applied = False
        try:
            if step.keywords.delegate_to is not None:
                scope = item.scope = self._delegated(inflight, scope)
            if not condition_holds(step, scope):
                item.values = {
                    **SKIPPED,
                    "false_condition": self._false_condition(step, scope),
                    **item.local,
                }
            elif step.refusal and step.module not in ("play.include_tasks", "play.include_role"):
                raise StepFailed(step.refusal)
            elif step.async_seconds and step.module == "host.script":
                raise StepFailed("This action (script) does not support async.")
            elif self.shared.survey and self.shared.survey.skips(step):
                item.values = {**NOT_SURVEYED, **item.local}
            elif module_index.runs_on_host(step.module):
                self._send(inflight, item)
            else:
                item.values = {**self.controller.do(inflight, item), **item.local}
        except PlayrunnerError as error:
            item.values = {**self._problem(error, step, scope), **item.local}

    def _delegated(self, inflight: InFlightStep, scope: Scope) -> Scope:
        """The step's scope, which knows how the host is reached that it is delegated to."""
        inflight.delegated_to = delegate(inflight.step, scope) or ""
        if not inflight.delegated_to:
            return scope
        if self.requests.flag(inflight.step.keywords.delegate_facts, scope):
            inflight.facts_for = inflight.delegated_to
        other = Scope(scope.run_vars, inflight.delegated_to)
        settings = {name: other.given(name) for name in CONNECTION_NAMES}
        connection = {
            "ansible_host": inflight.delegated_to,
            **{name: value for name, value in settings.items() if value is not MISSING},
        }
        return scope.inner({"ansible_delegated_vars": {inflight.delegated_to: connection}})

    def _false_condition(self, step: Step, scope: Scope) -> Any:
        truth = scope.run_vars.templar.truth
        return next((when for when in step.keywords.when if not truth(when, scope)), None)

    def _send(self, inflight: InFlightStep, item: LoopItem) -> None:
        step, scope = inflight.step, item.scope
        arguments = self.requests.arguments_of(step, scope)
        item.hides_diff = is_secret_source(arguments)
        request = self.requests.request_of(inflight, scope, arguments)
        item.agent_request = self.dispatcher.send(
            self.requests.agent_key(step, scope), step.module, request
        )

    def _problem(self, error: PlayrunnerError, step: Step, scope: Scope) -> dict[str, Any]:
        if isinstance(error, HostUnreachable):
            return failure_values(error)
        if self.shared.survey and isinstance(error, (NotYet, UndefinedVariable)):
            # It depends on a resource that does not exist, so it does not exist either.
            return {**NOT_SURVEYED, "absent": True}
        if isinstance(error, NotYet) and self.shared.options.check:
            values = {"unknown": True, "changed": False, "msg": str(error)}
            if not step.keywords.delegate_facts:
                self.waiter.tentative.update(unknown_facts(step, values))
            return values
        if isinstance(error, RunRefused):
            if self.shared.refused is not None:  # it was shown once, and holds for all steps
                return {**NOT_SURVEYED, "skip_reason": str(error)}
            self.shared.refused = error
        if isinstance(error, (BadInput, UndefinedVariable, StepFailed, NotYet)):
            return failure_values(error)
        raise error

    def _fence(self, inflight: InFlightStep) -> None:
        """All items of a loop run; a failed one stops the agent only after the last."""
        if not inflight.ignored:
            self.dispatcher.fence(
                [item.agent_request for item in inflight.items if item.agent_request], id(inflight)
            )

    def _breaks(self, step: Step, item: LoopItem) -> bool:
        if not step.loop or not step.loop.break_when or item.values is None:
            return False
        return item.scope.run_vars.templar.truth(list(step.loop.break_when), item.scope)


def _title(step: Step, scope: Scope) -> str:
    if not is_template(step.title):
        return step.title
    try:
        return masking.text(str(scope.run_vars.templar.render(step.title, scope)))
    except PlayrunnerError:
        return step.title
