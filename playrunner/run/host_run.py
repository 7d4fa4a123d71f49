"""HostRun: one host's pass through a play. Steps are sent ahead of their results; a template that
reads a pending result waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from playrunner.errors import (
    HostUnreachable,
    Interrupted,
    PlayrunnerError,
    RunStopped,
    of_a_full_machine,
)
from playrunner.model import AFTER_ITS_INCLUDES, Node, Position, Role, Step, steps_of
from playrunner.playbook import module_index
from playrunner.results import Result
from playrunner.run import step_traits
from playrunner.run.batch import Batch, HostEnded, MarkedFailed, Outcome, PlayAborted, PlayEnded
from playrunner.run.control.blocks import run_block
from playrunner.run.control.chosen_module import with_chosen_module
from playrunner.run.control.handlers import Handlers
from playrunner.run.control.include_step import run_include
from playrunner.run.control.meta_step import in_ended_role, run_meta
from playrunner.run.control.resuming import Resuming
from playrunner.run.gathering import gathering_step, gathers_facts
from playrunner.run.host_scopes import HostScopes
from playrunner.run.inflight import InFlightStep
from playrunner.run.pending import BEFORE_ALL, HostLost, PendingSteps, StepStopped
from playrunner.run.run_state import RunState
from playrunner.run.start_step import StepStarter
from playrunner.ssh.dispatcher import AgentDispatcher
from playrunner.variables.host_memory import PlayVariables
from playrunner.variables.scope import Scope

AFTER_THE_STEP = AFTER_ITS_INCLUDES - 1
_ENDINGS = (StepStopped, MarkedFailed, HostLost, PlayEnded, HostEnded, PlayAborted)


class HostRun:
    """One host in one play; runs in a thread of its own."""

    def __init__(
        self,
        shared: RunState,
        batch: Batch,
        variables: PlayVariables,
        host: str,
        is_local: bool = False,
    ) -> None:
        self.shared, self.batch, self.variables, self.host = shared, batch, variables, host
        self.play = variables.play
        self.memory = shared.run_vars.memory(host)
        self.handlers = Handlers(self.play.handlers)
        self.dispatcher = AgentDispatcher(
            shared.agents, shared.uploads, lambda text: shared.report.output(host, text)
        )
        self.pending = PendingSteps(shared, batch, host, self.dispatcher, self.handlers, is_local)
        self.starter = StepStarter(
            shared, batch, self.dispatcher, host, self.pending, self.pending.background.sleep
        )
        self.flag = self.starter.requests.flag
        self.wait_for_steps = self.pending.wait_for_steps
        self.scopes = HostScopes(shared.run_vars, variables, host, self.pending)
        self.handlers.scope_of = self.scopes.of_step
        self.handlers.warn = shared.report.warn_once
        self.resuming = Resuming(batch, self.play, host)
        self.ended_role: Role | None = None  # by `meta: end_role`, until a step outside of it
        self.mentions = list(self.play.mentions)  # whose handlers this host has
        self._meet_next = False
        self._fatal_seen: set[Position] = set()  # fatal failures of others that were acted on
        self._forces_handlers = self.play.forces_handlers(shared.options.force_handlers)
        self.pending.sections_after = int(self._forces_handlers)

    def go(self) -> None:
        """Run the whole play; what goes wrong on this host is reported, never raised."""
        try:
            with self.batch.slot():
                self._report_failures(self._all_sections)
                while self.resuming.is_back():
                    self._report_failures(self._all_sections)
        finally:
            self.dispatcher.release() if self.host not in self.batch.unreachable else None
            self.batch.leave(self.host)

    def _report_failures(self, walk: Callable[[], None]) -> None:
        try:
            walk()
            return
        except (PlayEnded, HostEnded):
            self.batch.remove(self.host, self.pending.position)
            self._finish_pending()
            return
        except HostLost as error:
            self.resuming.lose(error.position)
        except (StepStopped, MarkedFailed):
            self._fail()
        except PlayAborted:
            self._finish_pending()
            self.batch.failed.add(self.host)
        except Interrupted:
            pass
        except RunStopped as error:
            self.shared.stopped_by = self.shared.stopped_by or error
            self.batch.abort(self.host, self.pending.position)
        except PlayrunnerError as error:
            lost = isinstance(error, HostUnreachable)
            self._report_error(error, "unreachable" if lost else "failed")
        except Exception as error:  # a defect fails this host; the other hosts go on
            if full := of_a_full_machine(error):
                self._report_error(full, "failed")
                return
            self.shared.report.defect(self.host, error)
            self.shared.defects += 1
            self.batch.failed.add(self.host)

    def _fail(self) -> None:
        self.batch.failed.add(self.host)
        if self._forces_handlers:
            self._force_handlers()

    def _force_handlers(self) -> None:
        try:
            self.flush_handlers(self.pending.position)
            self.wait_for_steps()
        except (*_ENDINGS, PlayrunnerError):
            pass

    def _report_error(self, error: PlayrunnerError, status: str) -> None:
        (self.batch.unreachable if status == "unreachable" else self.batch.failed).add(self.host)
        self.batch.remove(self.host, self.pending.position)
        values = {status: True, "msg": str(error)}
        self.shared.add_result(
            Result(self.host, self.play.name, "", status, values, place=self.play.place)
        )

    def _all_sections(self) -> None:
        self.scopes.read_vars_files()
        self._gather()
        last = BEFORE_ALL
        for section in self.play.sections:
            self.nodes(section)
            last = max((step.position for step in steps_of(section)), default=last)
            self.flush_handlers(last)
        self.wait_for_steps()

    def _finish_pending(self) -> None:
        """Process the pending results; what they come to must not raise."""
        try:
            self.wait_for_steps()
        except (StepStopped, MarkedFailed):
            self._fail()
        except HostLost as error:
            self.resuming.lose(error.position)
        except (PlayAborted, PlayEnded, HostEnded, Interrupted):
            pass

    def _gather(self) -> None:
        if not gathers_facts(self.play, self.memory, self.flag, self.scopes):
            return
        self.step(gathering_step(self.play, BEFORE_ALL))

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Step):
                self.step(node)
            else:
                run_block(self, node)

    def step(self, step: Step) -> None:
        """Start one step; returns at once unless its result is needed before the next step."""
        if self.resuming.passed(step.position):
            return
        if self.ended_role and in_ended_role(self, step, self.ended_role):
            return
        self._check_others(step.position)
        if not self.shared.plan.selects(step, lambda: self.scopes.of_step(step)):
            return
        self.pending.position = step.position
        self.batch.starts(self.host, step.position)
        if step.module == module_index.CHOSEN:
            step = with_chosen_module(step, self.scopes.of_step(step))
        self.pending.files.pass_step(step)
        if self._meets_others(step):
            self._finish_before_waiting()
            self.batch.meet(self.host, step.position)
            self._check_others(step.position)
            if self.shared.options.forks == 1:  # in the order of the hosts then
                self.batch.wait_for_earlier(self.host, step.position)
        scope = self.scopes.of_step(step)
        self.shared.reserved.of_step(step, scope, self.shared.play_number)
        if step.module == "play.meta":
            run_meta(self, step, scope)
        elif step.module in ("play.include_tasks", "play.include_role"):
            run_include(self, step, scope)
        elif step_traits.once_for_all(step) or self.flag(step.keywords.run_once, scope):
            self._once(step, scope)
        else:
            self._start(step, scope)
        if step.keywords.any_errors_fatal and len(self.batch.hosts) > 1:
            self._meet_after(step)

    def _check_others(self, position: Position) -> None:
        """Whether the play goes on here, after what happened on other hosts before this
        position."""
        self.batch.check_running(position)
        for where, failed in list(self.batch.fatal.items()):
            if where < position and where not in self._fatal_seen:
                self._fatal_seen.add(where)
                if self.host not in failed:
                    self.batch.mark_failed(self.host, where)

    def _meet_after(self, step: Step) -> None:
        """any_errors_fatal: wait until every host has done the step, before its block is left."""
        after = (*step.position, AFTER_THE_STEP)
        self._finish_before_waiting()
        self.batch.wait_for_all(self.host, after)
        self._check_others(after)

    def _finish_before_waiting(self) -> None:
        """Get all results; where few files may be open, others need those of the connection."""
        self.wait_for_steps()
        if not self.shared.agents.keep_idle:
            self.dispatcher.release()

    def _meets_others(self, step: Step) -> bool:
        """Whether hosts wait for each other before this step: delegation, run_once, lockstep, and
        modules that act on other hosts."""
        keywords = step.keywords
        waits = (
            self.batch.lockstep
            or self._meet_next
            or keywords.run_once is not None
            or keywords.delegate_to is not None
            or keywords.any_errors_fatal
            or step_traits.waits_for_all(step)
        )
        self._meet_next = keywords.delegate_to is not None
        return bool(waits) and len(self.batch.hosts) > 1

    def _start(self, step: Step, scope: Scope) -> InFlightStep:
        if step_traits.in_background(step):
            return self._start_in_background(step)
        inflight = self.starter.start(step, scope)
        self.pending.add(inflight, step_traits.gives_facts(step))
        if inflight.known_failure() or inflight.flag_of_items or step_traits.is_awaited(step):
            self.wait_for_steps()
        return inflight

    def _start_in_background(self, step: Step) -> InFlightStep:
        background_waiter = self.pending.background_waiter()
        scope = self.scopes.of_step(step, background_waiter)
        inflight = InFlightStep(step, step.title, looped=step.loop is not None)

        def fill() -> None:
            try:
                self.starter.fill(inflight, scope)
            finally:
                inflight.reads = frozenset(background_waiter.read)

        if self.shared.survey:
            self.shared.survey.inflight_steps.append(inflight)
        self.pending.background.start(inflight, fill, self.pending.process_result)
        self.pending.add(inflight)
        return inflight

    def _once(self, step: Step, scope: Scope) -> None:
        """run_once: the first host runs the step, every host gets the result."""
        if self.batch.meet(self.host, step.position) != self.host:
            outcome = self.batch.wait_for_result(step.position)
            if outcome.marks:
                self._fatal_seen.add(step.position)
                self.batch.mark_failed(self.host, step.position, outcome.marks)
            registered = {step.register: outcome.values} if step.register else {}
            self.memory.store("registered", {**registered, **outcome.facts}, step.position)
            return
        outcome = Outcome({}, {}, marks=1)
        try:
            inflight = self._start(step, scope)
            self.wait_for_steps()
            values = inflight.values()
            shared = step.module == "play.set_fact" and not inflight.facts_for
            outcome = Outcome(values, values.get("ansible_facts", {}) if shared else {})
        except StepStopped:
            outcome = Outcome({}, {}, marks=2)
            raise
        finally:
            self.batch.publish_result(step.position, outcome)

    def flush_handlers(self, after: Position) -> None:
        """Run the notified handlers in the order they are written; their position is after a
        step."""
        self.wait_for_steps()
        for number, handler in self.handlers.notified():
            self.step(replace(handler, position=(*after, AFTER_ITS_INCLUDES, number)))
            self.wait_for_steps()
        self.pending.files.pass_unseen(self.play.handlers)
