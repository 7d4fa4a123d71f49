"""Strand: one host's way through a play. Steps are sent ahead; a value that is still on its way is
waited for when read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from playrunner.errors import HostUnreachable, Interrupted, PlayrunnerError, of_a_full_machine
from playrunner.model import Block, Keywords, Node, Position, Step, steps_of
from playrunner.results import Result
from playrunner.run.batch import Batch, Doomed, Outcome, PlayEnded
from playrunner.run.handlers import Handlers
from playrunner.run.includes import Brought, included_nodes
from playrunner.run.inflight import Flight, Turn
from playrunner.run.pending import BEFORE_ALL, HostGone, StepStopped, UnderWay
from playrunner.run.run_state import Shared
from playrunner.run.start_step import Launcher
from playrunner.ssh.dispatcher import Courier
from playrunner.variables.host_memory import PlayVariables
from playrunner.variables.play_vars_files import read_vars_files
from playrunner.variables.scope import Scope, Waiter

AFTER_ITS_INCLUDES = (
    1 << 20
)  # handlers flushed after a step stand behind whatever that step included


class HostEnded(Exception):
    """`meta: end_host`."""


class Strand:
    """One host in one play; runs in a thread of its own."""

    def __init__(self, shared: Shared, batch: Batch, variables: PlayVariables, host: str) -> None:
        self.shared, self.batch, self.variables, self.host = shared, batch, variables, host
        self.play = variables.play
        self.memory = shared.world.memory(host)
        self.handlers = Handlers(self.play.handlers)
        self.courier = Courier(
            shared.agents, shared.shipments, lambda text: shared.report.output(host, text)
        )
        self.under_way = UnderWay(shared, batch, host, self.courier, self.handlers)
        self.launcher = Launcher(
            shared, batch, self.courier, host, self.under_way, self.under_way.background.sleep
        )
        self.flag = self.launcher.requests.flag
        self.settle = self.under_way.settle
        self._meet_next = False
        self._data: tuple[
            Mapping[str, Any], ...
        ] = ()  # loop variables of includes, outermost first
        self._params: tuple[Mapping[str, Any], ...] = ()  # vars of includes, outermost first
        self._files: Mapping[str, Any] = {}  # vars_files

    # The way through the play.

    def go(self) -> None:
        """The whole play; whatever happens to this host is reported, never raised."""
        try:
            with self.batch.slot():
                self._guarded(self._all_sections)
        finally:
            self.courier.release() if self.host not in self.batch.unreachable else None
            self.batch.leave(self.host)

    def _guarded(self, walk: Any) -> None:
        try:
            walk()
            return
        except PlayEnded:
            self._end_quietly(lambda: self.flush_handlers(self.under_way.position))
            return
        except HostEnded:
            self._end_quietly()
            return
        except HostGone:
            self.batch.unreachable.add(self.host)
        except StepStopped as failure:
            self._fail(failure.flight.step)
        except Doomed:
            self._end_quietly()
            self._fail(None)
        except Interrupted:
            pass
        except PlayrunnerError as error:
            self._report_error(error, 4 if isinstance(error, HostUnreachable) else 2)
        except (
            Exception
        ) as error:  # the controller's one broad catch: a defect fails this host, the others go on
            if full := of_a_full_machine(error):
                self._report_error(full, 2)
                return
            self.shared.report.defect(self.host, error)
            self.shared.defects += 1
            self.batch.failed.add(self.host)

    def _fail(self, step: Step | None) -> None:
        self.batch.fail(
            self.host, self.under_way.position, fatal=bool(step and step.keywords.any_errors_fatal)
        )
        if self.play.force_handlers or self.shared.options.force_handlers:
            self._guarded_handlers()

    def _guarded_handlers(self) -> None:
        try:
            self.flush_handlers(self.under_way.position)
            self.settle()
        except (StepStopped, HostGone, PlayEnded, HostEnded, Doomed, PlayrunnerError):
            pass

    def _report_error(self, error: PlayrunnerError, code: int) -> None:
        word = "unreachable" if code == 4 else "failed"
        (self.batch.unreachable if code == 4 else self.batch.failed).add(self.host)
        step = self.play.name
        self.shared.hear(
            Result(
                self.host, step, "", word, {word: True, "msg": str(error)}, place=self.play.place
            )
        )

    def _all_sections(self) -> None:
        self._files = read_vars_files(
            self.play.vars_files,
            lambda found: Scope(
                self.shared.world, self.host, self.variables, files=found, waiter=self.under_way
            ),
        )
        self._gather()
        last = BEFORE_ALL
        for section in self.play.sections:
            self.nodes(section)
            last = max((step.position for step in steps_of(section)), default=last)
            self.flush_handlers(last)
        self.settle()

    def _end_quietly(self, last: Callable[[], None] = lambda: None) -> None:
        """Take in what is under way, and do what still belongs to it."""
        try:
            self.settle()
            last()
            self.settle()
        except StepStopped as failure:
            self._fail(failure.flight.step)
        except HostGone:
            self.batch.unreachable.add(self.host)
        except (Doomed, PlayEnded, HostEnded, Interrupted):
            pass

    def _gather(self) -> None:
        scope = Scope(
            self.shared.world, self.host, self.variables, files=self._files, waiter=self.under_way
        )
        if not self.flag(self.play.gather_facts, scope):
            return
        subset = {"gather_subset": self.play.gather_subset} if self.play.gather_subset else {}
        words = Keywords(tags=frozenset({"always"})).under(self.play.keywords)
        self.step(
            Step(
                "Gathering Facts",
                "host.setup",
                subset,
                self.play.place,
                words,
                BEFORE_ALL,
                implicit=True,
            )
        )

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Block):
                self.block(node)
            else:
                self.step(node)

    def block(self, block: Block) -> None:
        if not block.rescue and not block.always:
            self.nodes(block.body)
            return
        self.settle()
        try:
            self._body(block)
        except (StepStopped, HostGone, PlayEnded, HostEnded, Doomed) as ending:
            self._always(block)
            raise ending
        self._always(block)

    def _body(self, block: Block) -> None:
        self.under_way.rescuers += bool(block.rescue)
        try:
            self.nodes(block.body)
            self.settle()
            return
        except StepStopped as failure:
            if not block.rescue:
                raise
            failed = failure.flight.step
            self.memory.given["ansible_failed_task"] = {
                "name": failed.name,
                "action": failed.module.rpartition(".")[2],
            }
            self.memory.given["ansible_failed_result"] = dict(failure.values)
        finally:
            self.under_way.rescuers -= bool(block.rescue)
        self.nodes(block.rescue)
        self.settle()
        for name in ("ansible_failed_task", "ansible_failed_result"):
            self.memory.given.pop(name, None)

    def _always(self, block: Block) -> None:
        self.nodes(block.always)
        self.settle()

    def step(self, step: Step) -> None:
        """Start one step; returns at once when nothing about it has to be awaited."""
        self.batch.check_going(step.position)
        if not self.shared.plan.selects(step):
            return
        self.under_way.position = step.position
        if self._meets_others(step):
            self.settle()
            self.batch.meet(self.host, step.position)
            self.batch.check_going(step.position)
        scope = self.scope(step)
        if step.module == "play.meta":
            self._meta(step, scope)
        elif step.module in ("play.include_tasks", "play.include_role"):
            self._include(step, scope)
        elif self.launcher.once_for_all(step) or self.flag(step.keywords.run_once, scope):
            self._once(step, scope)
        else:
            self._start(step, scope)

    def _meets_others(self, step: Step) -> bool:
        """Where the playbook makes hosts wait for each other: delegation, one host for all, steps
        that reach out."""
        words = step.keywords
        waits = (
            self.batch.lockstep
            or self._meet_next
            or words.run_once is not None
            or words.delegate_to is not None
            or words.any_errors_fatal
            or self.launcher.waits_for_all(step)
        )
        self._meet_next = words.delegate_to is not None or bool(words.any_errors_fatal)
        return bool(waits) and len(self.batch.hosts) > 1

    def _start(self, step: Step, scope: Scope) -> Flight:
        if self.launcher.in_background(step):
            return self._start_in_background(step)
        flight = self.launcher.launch(step, scope)
        self.under_way.add(flight, self.launcher.gives_facts(step))
        if flight.known_failure() or self.launcher.is_awaited(step):
            self.settle()
        return flight

    def _start_in_background(self, step: Step) -> Flight:
        branch = self.under_way.branch()
        scope = self.scope(step, branch)
        flight = Flight(step, step.title, looped=step.loop is not None)

        def fill() -> None:
            try:
                self.launcher.fill(flight, scope)
            finally:
                flight.reads = frozenset(branch.read)

        if self.shared.survey:
            self.shared.survey.flights.append(flight)
        self.under_way.background.start(flight, fill, self.under_way.take_in)
        self.under_way.add(flight)
        return flight

    def _once(self, step: Step, scope: Scope) -> None:
        """The first host does it, every host gets the result."""
        if self.batch.meet(self.host, step.position) != self.host:
            outcome = self.batch.hear(step.position)
            if outcome.failed:
                raise Doomed
            if step.register:
                self.memory.given[step.register] = outcome.values
            self.memory.given.update(outcome.facts)
            return
        outcome = Outcome({}, {}, True)
        try:
            flight = self._start(step, scope)
            self.settle()
            values = flight.values()
            shared = step.module == "play.set_fact" and not flight.facts_for
            outcome = Outcome(values, values.get("ansible_facts", {}) if shared else {})
        finally:
            self.batch.tell(step.position, outcome)

    def _meta(self, step: Step, scope: Scope) -> None:
        action = str(step.arguments.get("action", "")).strip()
        if not self.launcher.condition_holds(step, scope):
            return
        if action in (
            "end_play",
            "end_batch",
            "end_host",
            "clear_facts",
            "clear_host_errors",
            "reset_connection",
        ):
            self.settle()
        if action == "flush_handlers":
            self.flush_handlers(step.position)
        elif action in ("end_play", "end_batch"):
            self.batch.ended = True
            self.shared.play_ended = self.shared.play_ended or action == "end_play"
            raise PlayEnded
        elif action == "end_host":
            raise HostEnded
        elif action == "clear_facts":
            self.memory.facts.clear()
        elif action == "reset_connection":
            self.courier.reset(self.launcher.requests.seat_of(step, scope))
        elif action == "clear_host_errors":
            self.shared.gone.clear()

    def _include(self, step: Step, scope: Scope) -> None:
        flight = self.launcher.launch(step, scope)
        self.under_way.add(flight)
        if flight.known_failure():
            self.settle()
        for number, turn in enumerate(flight.turns):
            if turn.values and turn.values.get("include") is not None:
                with flight.censoring():
                    brought = self._bring(step, turn, number)
                self.handlers.add(brought.handlers)
                for role in brought.roles:
                    self.variables.add_role(role)
                with self._inside(turn.local, brought.params):
                    self.nodes(brought.nodes)

    def _bring(self, step: Step, turn: Turn, number: int) -> Brought:
        try:
            return included_nodes(self.shared, self.play, step, turn, number)
        except PlayrunnerError as error:
            turn.values = {"failed": True, "changed": False, "msg": str(error), **turn.local}
            self.settle()  # says so, and stops this host or is rescued
            raise

    @contextmanager
    def _inside(self, data: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[None]:
        before = self._data, self._params
        self._data, self._params = (*self._data, data), (*self._params, params)
        try:
            yield
        finally:
            self._data, self._params = before

    def flush_handlers(self, after: Position) -> None:
        """Run the handlers that changed steps have notified, in the order they are written; they
        stand after a step."""
        self.settle()
        for number, handler in self.handlers.notified(self.scope):
            self.step(replace(handler, position=(*after, AFTER_ITS_INCLUDES, number)))
            self.settle()

    def scope(self, step: Step | None, waiter: Waiter | None = None) -> Scope:
        local = {name: value for layer in self._data for name, value in layer.items()}
        params = {name: value for layer in self._params for name, value in layer.items()}
        return Scope(
            self.shared.world,
            self.host,
            self.variables,
            step,
            local=local,
            params=params,
            files=self._files,
            waiter=waiter or self.under_way,
        )
