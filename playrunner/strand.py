"""Strand: one host's way through a play. Steps are sent ahead; a value that is still on its way is waited for when read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playrunner import catalogue
from playrunner.batch import Batch, Doomed, Outcome, PlayEnded
from playrunner.courier import Courier
from playrunner.documents import read_yaml
from playrunner.errors import BadInput, HostUnreachable, Interrupted, PlayrunnerError, StepFailed
from playrunner.flight import Flight, Turn
from playrunner.handlers import Handlers
from playrunner.includes import included_nodes
from playrunner.launch import Launcher
from playrunner.model import Block, Keywords, Node, Position, Step
from playrunner.results import CENSORED, Item, Result, status_of
from playrunner.rollback import Undo
from playrunner.variables import PlayVariables, Scope, UnknownValues, Waiter

if TYPE_CHECKING:
    from playrunner.execute import Execution

BEFORE_ALL: Position = (-1,)


class StepStopped(Exception):
    """A step failed on this host, and nothing around it ignores that."""

    def __init__(self, flight: Flight, values: Mapping[str, Any]) -> None:
        super().__init__(str(values.get("msg", "")))
        self.flight, self.values = flight, values


class HostGone(Exception):
    """The host does not answer any more."""


class HostEnded(Exception):
    """`meta: end_host`."""


class Strand(Waiter):
    """One host in one play; runs in a thread of its own."""

    def __init__(self, run: Execution, batch: Batch, variables: PlayVariables, host: str) -> None:
        self.run, self.batch, self.variables, self.host = run, batch, variables, host
        self.play = variables.play
        self.memory = run.world.memory(host)
        self.position: Position = BEFORE_ALL
        self.tentative: dict[str, Any] = {}  # facts set by steps that are not confirmed yet
        self.courier = Courier(run.agents, run.shipments, lambda text: run.report.output(host, text))
        self.launcher = Launcher(self)
        self.handlers = Handlers(self.play.handlers)
        self._under_way: deque[Flight] = deque()
        self._pending: dict[str, Flight] = {}
        self._rescuers = 0
        self._meet_next = False
        self._data: tuple[Mapping[str, Any], ...] = ()  # loop variables of includes, outermost first
        self._params: tuple[Mapping[str, Any], ...] = ()  # vars of includes, outermost first
        self._files: Mapping[str, Any] = {}

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
            self._end_quietly(self.flush_handlers)
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
        except Exception as error:  # the controller's one broad catch: a defect fails this host, the others go on
            self.run.report.defect(self.host, error)
            self.run.defects += 1
            self.batch.failed.add(self.host)

    def _fail(self, step: Step | None) -> None:
        self.batch.failed.add(self.host)
        self.run.judge(self.batch, self.play, self.position, fatal=bool(step and step.keywords.any_errors_fatal))
        if self.play.force_handlers or self.run.options.force_handlers:
            self._guarded_handlers()

    def _guarded_handlers(self) -> None:
        try:
            self.flush_handlers()
            self.settle()
        except (StepStopped, HostGone, PlayEnded, HostEnded, Doomed, PlayrunnerError):
            pass

    def _report_error(self, error: PlayrunnerError, code: int) -> None:
        word = "unreachable" if code == 4 else "failed"
        (self.batch.unreachable if code == 4 else self.batch.failed).add(self.host)
        step = self.play.name
        self.run.hear(Result(self.host, step, "", word, {word: True, "msg": str(error)}, place=self.play.place))

    def _all_sections(self) -> None:
        self._read_vars_files()
        self._gather()
        for section in self.play.sections:
            self.nodes(section)
            self.flush_handlers()
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

    def _read_vars_files(self) -> None:
        found: dict[str, Any] = {}
        for entry in self.play.vars_files:
            names = entry if isinstance(entry, list) else [entry]
            scope = Scope(self.run.world, self.host, self.variables, files=found, waiter=self)
            for last, name in zip([False] * (len(names) - 1) + [True], names, strict=True):
                try:
                    path = scope.find(str(self.run.world.templar.render(name, scope)), "vars")
                except BadInput:
                    if last:
                        raise
                    continue
                values = read_yaml(path) or {}
                if not isinstance(values, dict):
                    raise BadInput(f"{path}: a file of variables holds a mapping of names to values")
                found.update(values)
                break
        self._files = found

    def _gather(self) -> None:
        scope = Scope(self.run.world, self.host, self.variables, files=self._files, waiter=self)
        if not self.launcher.flag(self.play.gather_facts, scope):
            return
        subset = {"gather_subset": self.play.gather_subset} if self.play.gather_subset else {}
        words = Keywords(tags=frozenset({"always"})).under(self.play.keywords)
        self.step(Step("Gathering Facts", "host.setup", subset, self.play.place, words, BEFORE_ALL, implicit=True))

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
        self._rescuers += bool(block.rescue)
        try:
            self.nodes(block.body)
            self.settle()
            return
        except StepStopped as failure:
            if not block.rescue:
                raise
            failed = failure.flight.step
            self.memory.given["ansible_failed_task"] = {"name": failed.name, "action": failed.module.rpartition(".")[2]}
            self.memory.given["ansible_failed_result"] = dict(failure.values)
        finally:
            self._rescuers -= bool(block.rescue)
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
        if not self.run.plan.selects(step):
            return
        self.position = step.position
        if self._meets_others(step):
            self.settle()
            self.batch.meet(self.host, step.position)
            self.batch.check_going(step.position)
        scope = self.scope(step)
        if step.module == "play.meta":
            self._meta(step, scope)
        elif step.module in ("play.include_tasks", "play.include_role"):
            self._include(step, scope)
        elif self.launcher.once_for_all(step) or self.launcher.flag(step.keywords.run_once, scope):
            self._once(step, scope)
        else:
            self._start(step, scope)

    def _meets_others(self, step: Step) -> bool:
        """Where the playbook makes hosts wait for each other: delegation, one host for all, steps that reach out."""
        words = step.keywords
        waits = (self.batch.lockstep or self._meet_next or words.run_once is not None or words.delegate_to is not None
                 or words.any_errors_fatal or self.launcher.waits_for_all(step))
        self._meet_next = words.delegate_to is not None or bool(words.any_errors_fatal)
        return bool(waits) and len(self.batch.hosts) > 1

    def _start(self, step: Step, scope: Scope) -> Flight:
        flight = self.launcher.launch(step, scope)
        self._under_way.append(flight)
        if step.register:
            self._pending[step.register] = flight
        if self.launcher.gives_facts(step):
            self._pending["ansible_facts"] = flight
        if flight.known_failure() or self.launcher.is_awaited(step):
            self.settle()
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
        if action in ("end_play", "end_batch", "end_host", "clear_facts", "clear_host_errors", "reset_connection"):
            self.settle()
        if action == "flush_handlers":
            self.flush_handlers()
        elif action in ("end_play", "end_batch"):
            self.batch.ended = True
            self.run.ended = self.run.ended or action == "end_play"
            raise PlayEnded
        elif action == "end_host":
            raise HostEnded
        elif action == "clear_facts":
            self.memory.facts.clear()
        elif action == "reset_connection":
            self.courier.reset(self.launcher.seat(step, scope))
        elif action == "clear_host_errors":
            self.run.clear_errors()

    def _include(self, step: Step, scope: Scope) -> None:
        flight = self.launcher.launch(step, scope)
        self._under_way.append(flight)
        if flight.known_failure():
            self.settle()
        for number, turn in enumerate(flight.turns):
            if turn.values and turn.values.get("include") is not None:
                brought = included_nodes(self, step, turn, number)
                with self._inside(turn.local, brought.params):
                    self.nodes(brought.nodes)

    @contextmanager
    def _inside(self, data: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[None]:
        before = self._data, self._params
        self._data, self._params = (*self._data, data), (*self._params, params)
        try:
            yield
        finally:
            self._data, self._params = before

    def flush_handlers(self) -> None:
        """Run the handlers that changed steps have notified, in the order they are written."""
        self.settle()
        for handler in self.handlers.notified(self.scope):
            self.step(handler)
            self.settle()

    # What scopes ask for.

    def scope(self, step: Step | None) -> Scope:
        local = {name: value for layer in self._data for name, value in layer.items()}
        params = {name: value for layer in self._params for name, value in layer.items()}
        return Scope(self.run.world, self.host, self.variables, step, local=local, params=params, files=self._files,
                     waiter=self)

    def settle(self) -> None:
        self._collect(None)
        self.batch.reached(self.host, self.position)

    def wait_for(self, name: str) -> None:
        flight = self._pending.get(name)
        if flight is None and name.startswith("ansible_"):
            flight = self._pending.get("ansible_facts")
        if flight is not None and name not in self.tentative:
            self._collect(flight)

    def wait_for_host(self, host: str) -> None:
        self.settle()
        self.batch.wait_for(host, self.position)

    def wait_for_all_hosts(self) -> None:
        self.settle()
        self.batch.wait_for_all(self.host, self.position)

    # What comes back.

    def _collect(self, until: Flight | None) -> None:
        """Take in the results of steps under way, in order, up to one of them or all."""
        while self._under_way:
            flight = self._under_way.popleft()
            try:
                flight.wait(self.courier)
            except (HostUnreachable, StepFailed) as error:
                word = "unreachable" if isinstance(error, HostUnreachable) else "failed"
                for turn in flight.turns:
                    turn.values = turn.values or {word: True, "changed": False, "msg": str(error)}
            self._conclude(flight)
            if flight is until:
                return

    def _conclude(self, flight: Flight) -> None:
        step = flight.step
        for turn in flight.turns:
            self.launcher.judge(flight, turn)
            self._name_facts(flight, turn)
        values = flight.values()
        if values.get("unknown") and not self.run.options.check:
            values.pop("unknown")  # check_mode on a step of an ordinary run: passed over, as asked
        if step.register:
            for known in (values, *values.get("results", ())):
                known.setdefault("failed", False)
            self.memory.given[step.register] = UnknownValues(values) if values.get("unknown") else values
            if self._pending.get(step.register) is flight:
                del self._pending[step.register]
        self._learn(flight)
        status = status_of(values)
        stops = status == "failed" and not flight.ignored
        self.run.hear(self._result(flight, values, status))
        if values.get("changed") and status not in ("failed", "unreachable"):
            self._notify(flight)
            self._remember(flight)
        if status == "unreachable" and not flight.ignore_unreachable:
            self._drop()
            raise HostGone
        if stops:
            self._drop()
            raise StepStopped(flight, values)

    def _learn(self, flight: Flight) -> None:
        """Facts a step gives join what is known of its host."""
        if self._pending.get("ansible_facts") is flight:
            del self._pending["ansible_facts"]
        for turn in flight.turns:
            facts = (turn.values or {}).get("ansible_facts")
            if isinstance(facts, dict) and not (turn.values or {}).get("failed"):
                memory = self.run.world.memory(flight.facts_for or self.host)
                if flight.step.module == "play.set_fact":
                    memory.given.update(facts)
                    for name in facts:
                        self.tentative.pop(name, None)
                elif flight.step.module == "play.include_vars":
                    memory.included.update(facts)
                else:
                    memory.facts.update(facts)

    def _name_facts(self, flight: Flight, turn: Turn) -> None:
        """Facts a host gives carry the prefix that playbooks know them by."""
        facts = (turn.values or {}).get("ansible_facts")
        if turn.values and isinstance(facts, dict) and catalogue.runs_on_host(flight.step.module):
            turn.values["ansible_facts"] = {name if name.startswith("ansible_") else f"ansible_{name}": value
                                            for name, value in facts.items()}

    def _notify(self, flight: Flight) -> None:
        if not flight.step.notify:
            return
        for turn in flight.turns:
            if (turn.values or {}).get("changed"):
                names = self.run.world.templar.render(list(flight.step.notify), turn.scope)
                self.handlers.notify(names, flight.step.place)

    def _remember(self, flight: Flight) -> None:
        """Under --rollback: what this change would take to be taken back."""
        if not self.run.options.rollback or self.run.options.check:
            return
        for turn in flight.turns:
            if turn.parcel and turn.parcel.may_be_repeated and turn.values and turn.values.get("diff"):
                parcel = turn.parcel
                self.run.changes.append(Undo(self.host, flight.title, parcel.agent.seat, parcel.module, parcel.request,
                                             turn.values["diff"].get("before")))

    def _drop(self) -> None:
        """What was sent ahead of a failure is passed over by the agent; nobody waits for it."""
        self._under_way.clear()
        self._pending.clear()
        self.tentative.clear()
        self.courier.forget()

    def _result(self, flight: Flight, values: Mapping[str, Any], status: str) -> Result:
        step = flight.step
        items = tuple(Item(turn.label, status_of(turn.values or {}), CENSORED if flight.hidden else turn.values or {})
                      for turn in flight.turns) if flight.looped else ()
        shown = {**CENSORED, "changed": values.get("changed", False)} if flight.hidden else values
        seconds = sum(turn.parcel.seconds for turn in flight.turns if turn.parcel)
        return Result(self.host, flight.title, step.module, status, shown, round(seconds, 3), step.place, step.position,
                      items, rescued=status == "failed" and not flight.ignored and self._rescuers > 0,
                      ignored=flight.ignored, attempts=max((turn.attempts for turn in flight.turns), default=1),
                      delegated_to=flight.delegated_to, play=self.run.play_number, weight=flight.weight())


