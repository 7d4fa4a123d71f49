"""PendingSteps: the started steps of one host whose results are not processed yet; results are
processed in the order of the steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from playrunner.errors import HostUnreachable, StepFailed
from playrunner.model import Position, Step
from playrunner.playbook import external_modules
from playrunner.results import status_of
from playrunner.run.background import Background, BackgroundWaiter
from playrunner.run.batch import Batch
from playrunner.run.control.conditions import (
    apply_result_conditions,
    note_success,
    with_exceptions,
)
from playrunner.run.control.controller_files import ControllerFiles
from playrunner.run.control.failure_values import failure_values
from playrunner.run.control.foreseen import later_values, unknown_facts
from playrunner.run.control.handlers import Handlers
from playrunner.run.control.ignored import decide_ignored
from playrunner.run.control.registered_diff import with_registered_diff
from playrunner.run.control.roles_of_host import RolesOfHost
from playrunner.run.fact_names import FACT_LAYERS, filter_facts
from playrunner.run.inflight import InFlightStep
from playrunner.run.run_state import RunState
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.variables.waiter import Waiter

BEFORE_ALL: Position = (-1,)


class StepStopped(Exception):
    """A step failed on this host, and nothing around it ignores that."""

    def __init__(self, inflight: InFlightStep, values: Mapping[str, Any]) -> None:
        super().__init__(str(values.get("msg", "")))
        self.inflight, self.values = inflight, values


class HostLost(Exception):
    """The host stopped answering, in the step at this position."""

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.position = position


class PendingSteps(Waiter):
    """One host's started steps; reading a variable that one of them registers waits for it."""

    def __init__(
        self,
        shared: RunState,
        batch: Batch,
        host: str,
        dispatcher: AgentDispatcher,
        handlers: Handlers,
        is_local: bool = False,
    ) -> None:
        self.shared, self.batch, self.host, self.dispatcher, self.handlers = (
            shared,
            batch,
            host,
            dispatcher,
            handlers,
        )
        self.memory = shared.run_vars.memory(host)
        self.files = ControllerFiles(batch, is_local, self)
        self.position: Position = BEFORE_ALL  # of the step that was started last
        self.rescuers = 0  # blocks around the current step that would rescue it
        # Blocks around it whose `rescue` or `always` would run; forced handlers are one more
        self.sections_after = 0
        self.tentative = {}  # facts set by steps that are not confirmed yet
        self._inflight_steps: deque[InFlightStep] = deque()
        self._pending: dict[str, InFlightStep] = {}  # by the name it will register
        self._producers: dict[str, InFlightStep] = {}  # the same, including finished steps
        self.roles = RolesOfHost()
        self.background = Background(batch)

    def background_waiter(self) -> BackgroundWaiter:
        """A waiter for a step in the background that is started now."""
        return BackgroundWaiter(self.background, self._producers, self)

    @contextmanager
    def inside(self, rescued: bool = False) -> Iterator[None]:
        """Within a part of a block that `rescue` or `always` follows after a failure."""
        self.rescuers += rescued
        self.sections_after += 1
        try:
            yield
        finally:
            self.rescuers -= rescued
            self.sections_after -= 1

    def add(self, inflight: InFlightStep, gives_facts: bool = False) -> None:
        self._inflight_steps.append(inflight)
        if inflight.step.register:
            self._pending[inflight.step.register] = self._producers[inflight.step.register] = (
                inflight
            )
        if gives_facts:
            self._pending["ansible_facts"] = inflight
        self.roles.add_step(inflight)

    def steps(self) -> Iterator[Step]:
        """The steps whose results are not processed yet."""
        return (inflight.step for inflight in self._inflight_steps)

    # Called by scopes.

    def wait_for_steps(self) -> None:
        self._collect(None)
        self.batch.reached(self.host, self.position)

    def wait_for_files(self) -> None:
        self.files.wait()

    def wait_for(self, name: str) -> None:
        inflight = self._pending.get(name)
        if inflight is None:
            facts = self._pending.get("ansible_facts")
            # Facts of modules written for Ansible may have any name
            if facts and (
                name.startswith("ansible_") or external_modules.is_external(facts.step.module)
            ):
                inflight = facts
        if inflight is not None and name not in self.tentative:
            self._collect(inflight)

    def wait_for_facts(self) -> bool:
        external = [
            inflight
            for inflight in self._inflight_steps
            if external_modules.is_external(inflight.step.module)
        ]
        if external:
            self._collect(external[-1])
        return bool(external)

    def wait_for_host(self, host: str) -> None:
        self.wait_for_steps()
        self.batch.wait_for(host, self.position)

    def wait_for_all_hosts(self) -> None:
        self.wait_for_steps()
        self.batch.wait_for_all(self.host, self.position)

    def _collect(self, until: InFlightStep | None) -> None:
        """Process the results of pending steps in order: up to `until`, or all."""
        while self._inflight_steps:
            inflight = self._inflight_steps.popleft()
            try:
                if inflight.done:
                    inflight = self.background.wait(inflight)
                else:
                    inflight.wait(self.dispatcher)
            except (HostUnreachable, StepFailed) as error:
                for item in inflight.items:
                    item.values = item.values or failure_values(error)
            if not inflight.done:
                self.process_result(inflight)
            self._stop_on(inflight)
            if inflight is until:
                return

    def process_result(self, inflight: InFlightStep) -> None:
        """Apply the result conditions, store what the step registers, and report; a failure stops
        the host when the steps before it are processed."""
        with inflight.censoring():
            self._process_result(inflight)

    def _process_result(self, inflight: InFlightStep) -> None:
        step = inflight.step
        for item in inflight.items:
            apply_result_conditions(inflight, item)
            filter_facts(inflight, item, self.host)
        decide_ignored(inflight)
        values = inflight.values()
        if values.get("unknown") and not self.shared.options.check:
            values.pop("unknown")  # check_mode on a step of an ordinary run
        if step.register:
            note_success(values, inflight.looped)
            registered = later_values(inflight, with_registered_diff(inflight, values))
            registered = with_exceptions(registered, inflight.looped)
            self.memory.store("registered", {step.register: registered}, step.position)
            if self._pending.get(step.register) is inflight:
                del self._pending[step.register]
        self._store_facts(inflight)
        if unknown := unknown_facts(step, values):
            memory = self.shared.run_vars.memory(inflight.facts_for or self.host)
            memory.store(FACT_LAYERS[step.module], unknown, step.position)
            for name in unknown:
                self.tentative.pop(name, None)
        status = status_of(values)
        rescued = status == "failed" and not inflight.ignored and self.rescuers > 0
        result = inflight.result(self.host, values, status, self.shared.play_number, rescued)
        if not inflight.silent:
            self.shared.add_result(result, step)
        if status == "unreachable":
            self.roles.remove_step(inflight)
        if values.get("changed") and status not in ("failed", "unreachable"):
            self._notify(inflight)
            self._remember(inflight)

    def _stop_on(self, inflight: InFlightStep) -> None:
        if inflight.problem:
            self._cancel_pending()
            raise inflight.problem
        if inflight.cancelled:
            return
        values = inflight.values()
        status = status_of(values)
        stops = status == "failed" and not inflight.ignored
        if status == "unreachable" and not inflight.ignore_unreachable:
            self._cancel_pending()
            self._note_failure(inflight, rescued=False, counts=False)
            raise HostLost(inflight.step.position)
        if stops:
            self._cancel_pending()
            self._note_failure(inflight, self.rescuers > 0, counts=not self.sections_after)
            raise StepStopped(inflight, values)

    def _note_failure(self, inflight: InFlightStep, rescued: bool, counts: bool) -> None:
        fatal, position = inflight.fatal, inflight.step.position
        self.batch.note_failure(self.host, position, fatal=fatal, rescued=rescued, counts=counts)

    def _store_facts(self, inflight: InFlightStep) -> None:
        """Add the facts that a step returns to the memory of its host."""
        if self._pending.get("ansible_facts") is inflight:
            del self._pending["ansible_facts"]
        for item in inflight.items:
            facts = (item.values or {}).get("ansible_facts")
            if isinstance(facts, dict) and not (item.values or {}).get("failed"):
                host = inflight.facts_for or self.host
                memory = self.shared.run_vars.memory(host)
                layer = FACT_LAYERS.get(inflight.step.module, "facts")
                memory.store(layer, facts, inflight.step.position)
                cached = bool((item.values or {}).get("_ansible_facts_cacheable"))
                if cached:
                    memory.store("facts", facts, inflight.step.position)
                if cached or layer == "facts":
                    self.shared.run_vars.keep_facts(host)
                if layer == "registered":
                    for name in facts:
                        self.tentative.pop(name, None)

    def _notify(self, inflight: InFlightStep) -> None:
        if not inflight.step.notify:
            return
        for item in inflight.items:
            if (item.values or {}).get("changed"):
                names = self.shared.run_vars.templar.render(list(inflight.step.notify), item.scope)
                self.handlers.notify(names, inflight.step.place)

    def _remember(self, inflight: InFlightStep) -> None:
        """Under --rollback: keep what it takes to undo this change."""
        if not self.shared.options.rollback or self.shared.options.check:
            return
        from playrunner.run.rollback import Undo

        for item in inflight.items:
            if (
                item.agent_request
                and item.agent_request.may_be_repeated
                and item.values
                and isinstance(item.values.get("diff"), dict)
            ):
                agent_request = item.agent_request
                self.shared.changes.append(
                    Undo(
                        self.host,
                        inflight.title,
                        agent_request.agent.key,
                        agent_request.module,
                        agent_request.request,
                        item.values["diff"].get("before"),
                        inflight.hidden,
                    )
                )

    def _cancel_pending(self) -> None:
        """Forget the steps that were sent after the failed one; the agent skips them."""
        for inflight in self.background.stop():
            if inflight.items:
                self.shared.report.output(
                    self.host,
                    f"{inflight.title}: still in progress; not waiting because another step failed."
                    " Run again to continue.",
                )
        self._inflight_steps.clear()
        self._pending.clear()
        self.tentative.clear()
        self.dispatcher.drop_pending()
