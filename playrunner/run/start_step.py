"""Launcher: turns a step into what an agent or a controller module is asked to do, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from playrunner.errors import (
    BadInput,
    HostUnreachable,
    NotYet,
    PlayrunnerError,
    StepFailed,
    UndefinedVariable,
)
from playrunner.model import Step
from playrunner.playbook import keyword_values, module_index
from playrunner.run.background import side_by_side
from playrunner.run.batch import Batch
from playrunner.run.conditions import satisfied
from playrunner.run.controller_step import Controller
from playrunner.run.host_request import Requests, delegate
from playrunner.run.inflight import Flight, Turn
from playrunner.run.loops import turns_of
from playrunner.run.run_state import Shared
from playrunner.run.survey import PASSED_OVER
from playrunner.ssh.agent_code import Seat
from playrunner.ssh.dispatcher import Courier
from playrunner.ssh.targets import CONNECTION_NAMES
from playrunner.text.written import is_template
from playrunner.variables.scope import Scope, Waiter
from playrunner.variables.templating import MISSING

SKIPPED = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
MOST_DELAY_SECONDS = 3600.0


class Launcher:
    """One strand's way of starting steps."""

    def __init__(
        self,
        shared: Shared,
        batch: Batch,
        courier: Courier,
        host: str,
        waiter: Waiter,
        sleep: Callable[[float], None],
    ) -> None:
        self.shared, self.batch, self.courier, self.host, self.waiter = (
            shared,
            batch,
            courier,
            host,
            waiter,
        )
        self.requests = Requests(shared)
        self.controller = Controller(
            shared, self.requests, courier, host, waiter, batch.sleep, sleep
        )

    # What a step is like.

    def is_awaited(self, step: Step) -> bool:
        """Whether the next step must not be sent before this one's result is judged here."""
        if self.in_background(step):
            return False
        words, cls = step.keywords, module_index.module_class(step.module)
        here = not module_index.runs_on_host(step.module) and not cls.in_memory
        paced = step.loop is not None and bool(step.loop.pause_seconds or step.loop.break_when)
        judged = (
            step.failed_when is not None
            or step.until is not None
            or step.retries is not None
            or not (step.changed_when is None or isinstance(step.changed_when, bool))
        )
        return bool(here or paced or judged or words.throttle or step.async_seconds)

    def in_background(self, step: Step) -> bool:
        return module_index.module_class(step.module).in_background

    def waits_for_all(self, step: Step) -> bool:
        cls = module_index.module_class(step.module)
        return cls.reaches_out or cls.once_for_all

    def once_for_all(self, step: Step) -> bool:
        return module_index.module_class(step.module).once_for_all

    def gives_facts(self, step: Step) -> bool:
        return module_index.module_class(step.module).gives_facts and step.module != "play.set_fact"

    def condition_holds(self, step: Step, scope: Scope) -> bool:
        return all(scope.world.templar.truth(condition, scope) for condition in step.keywords.when)

    # Starting it.

    def launch(self, step: Step, scope: Scope) -> Flight:
        if self.is_awaited(step):
            self.waiter.settle()
        flight = Flight(step, step.title, looped=step.loop is not None)
        self.fill(flight, scope)
        return flight

    def fill(self, flight: Flight, scope: Scope) -> None:
        """The flight's turns, each started or done."""
        with flight.censoring():
            self._fill(flight, scope)

    def _fill(self, flight: Flight, scope: Scope) -> None:
        step = flight.step
        try:
            flight.hidden = self._is_hidden(step, scope)
            flight.title = step.title if flight.hidden else _title(step, scope)
            flight.ignored = self.requests.flag(step.keywords.ignore_errors, scope)
            flight.ignore_unreachable = self.requests.flag(step.keywords.ignore_unreachable, scope)
            turns = map(flight.labelled, self._turns(step, scope))
        except PlayrunnerError as error:
            flight.looped = False
            flight.turns = [Turn(scope, values=self._problem(error, step, scope))]
            return
        if self.in_background(step):
            flight.turns = list(turns)
            side_by_side(flight.turns, lambda turn: self._until_judged(flight, turn))
            return
        self.shared.intend(self.host, step, flight.title)
        for turn in turns:
            flight.turns.append(turn)
            self._launch_turn(flight, turn)
            if self._breaks(step, turn):
                break
        if flight.looped and any(turn.parcel for turn in flight.turns):
            self._fence(flight)

    def _is_hidden(self, step: Step, scope: Scope) -> bool:
        """Whether no_log is set; where only an item of the loop can tell, the whole step counts as
        hidden."""
        try:
            return self.requests.flag(step.keywords.no_log, scope)
        except UndefinedVariable:
            if step.loop is None:
                raise
            return True

    def _turns(self, step: Step, scope: Scope) -> Iterator[Turn]:
        if step.loop is None:
            return iter([Turn(scope)])
        try:
            return iter(turns_of(step.loop, scope, step.place, self.batch.sleep))
        except UndefinedVariable:
            # A loop over something that is only there when `when` holds must not fail when it does
            # not.
            if step.keywords.when and not self.condition_holds(step, scope):
                return iter([Turn(scope, values={**SKIPPED})])
            raise

    def _launch_turn(self, flight: Flight, turn: Turn) -> None:
        if turn.values is not None:
            return
        step = flight.step
        if not self.is_awaited(step):
            self._attempt(flight, turn)
            return
        try:
            limit = keyword_values.whole(
                "throttle", step.keywords.throttle or 0, turn.scope, step.place
            )
        except PlayrunnerError as error:
            turn.values = {**self._problem(error, step, turn.scope), **turn.local}
            return
        if limit:
            with self.batch.throttled(step.position, limit):
                self._until_judged(flight, turn)
        else:
            self._until_judged(flight, turn)

    def _until_judged(self, flight: Flight, turn: Turn) -> None:
        try:
            self._attempts(flight, turn)
        except (
            StepFailed
        ) as error:  # retries, delay, async or poll is a template that gave no number
            turn.parcel, turn.values = (
                None,
                {**self._problem(error, flight.step, turn.scope), **turn.local},
            )

    def _attempts(self, flight: Flight, turn: Turn) -> None:
        """Attempts until the result is what `until` asks for, each judged before the next."""
        step = flight.step
        most = (
            3
            if step.retries is None
            else keyword_values.whole("retries", step.retries, turn.scope, step.place)
        )
        repeats = step.until is not None or step.retries is not None
        for number in range(1, (most + 1 if repeats else 1) + 1):
            turn.attempts, turn.values, turn.parcel = number, None, None
            self._attempt(flight, turn)
            self._wait(flight, turn)
            if satisfied(flight, turn) or not repeats:
                return
            if number <= most:
                delay = keyword_values.number("delay", step.delay, turn.scope, step.place)
                self.shared.report.output(
                    self.host, f"{flight.title}: attempt {number} of {most + 1}\n"
                )
                self.batch.sleep(min(delay, MOST_DELAY_SECONDS))
        assert turn.values is not None
        turn.attempts = most
        turn.values["failed"] = True

    def _wait(self, flight: Flight, turn: Turn) -> None:
        try:
            turn.wait(self.courier)
        except (HostUnreachable, StepFailed) as error:
            turn.values = self._problem(error, flight.step, turn.scope)
        if flight.step.async_seconds and turn.values and turn.values.get("ansible_job_id"):
            self._poll(flight, turn)
        if turn.values is not None:
            turn.values.update(turn.local)

    def _poll(self, flight: Flight, turn: Turn) -> None:
        step = flight.step
        poll = keyword_values.number("poll", step.poll, turn.scope, step.place)
        if poll <= 0 or not turn.values:
            return
        job, waited = turn.values["ansible_job_id"], 0.0
        limit = keyword_values.number("async", step.async_seconds, turn.scope, step.place)
        seat = self.requests.seat_of(step, turn.scope)
        while not turn.values.get("finished"):
            if waited > limit + poll:
                turn.values = {
                    "failed": True,
                    "changed": False,
                    "msg": f"not finished within {limit:g} seconds",
                    "ansible_job_id": job,
                    "started": True,
                    "finished": False,
                }
                return
            self.batch.sleep(poll)
            waited += poll
            turn.values = self._ask_job(turn, seat, {"jid": job})
        self._ask_job(turn, seat, {"jid": job, "mode": "cleanup"})

    def _ask_job(self, turn: Turn, seat: Seat, given: dict[str, Any]) -> dict[str, Any]:
        assert turn.parcel
        request = {"args": given, "halt": False, "env": turn.parcel.request.get("env", {})}
        return dict(self.courier.wait(self.courier.send(seat, "host.async_status", request)))

    def _attempt(self, flight: Flight, turn: Turn) -> None:
        """Send it, or do it here; what cannot be started is a result too."""
        step, scope = flight.step, turn.scope
        turn.judged = False
        try:
            if step.keywords.delegate_to is not None:
                scope = turn.scope = self._delegated(flight, scope)
            if not self.condition_holds(step, scope):
                turn.values = {
                    **SKIPPED,
                    "false_condition": self._false_one(step, scope),
                    **turn.local,
                }
            elif self.shared.survey and self.shared.survey.passes_over(step):
                turn.values = {**PASSED_OVER, **turn.local}
            elif module_index.runs_on_host(step.module):
                self._send(flight, turn)
            else:
                turn.values = {**self.controller.do(flight, turn), **turn.local}
        except PlayrunnerError as error:
            turn.values = {**self._problem(error, step, scope), **turn.local}

    def _delegated(self, flight: Flight, scope: Scope) -> Scope:
        """The step's variables with those of the connection taken from the host that does it."""
        flight.delegated_to = delegate(flight.step, scope) or ""
        if not flight.delegated_to:
            return scope
        if self.requests.flag(flight.step.keywords.delegate_facts, scope):
            flight.facts_for = flight.delegated_to
        other = Scope(scope.world, flight.delegated_to)
        found = {name: other.lookup(name) for name in CONNECTION_NAMES}
        known = {
            "ansible_host": flight.delegated_to,
            **{name: value for name, value in found.items() if value is not MISSING},
        }
        return scope.inner({**known, "ansible_delegated_vars": {flight.delegated_to: known}})

    def _false_one(self, step: Step, scope: Scope) -> Any:
        return next(
            (one for one in step.keywords.when if not scope.world.templar.truth(one, scope)), None
        )

    def _send(self, flight: Flight, turn: Turn) -> None:
        step, scope = flight.step, turn.scope
        given = self.requests.arguments_of(step, scope)
        request = self.requests.request_of(flight, scope, given)
        turn.parcel = self.courier.send(self.requests.seat_of(step, scope), step.module, request)

    def _problem(self, error: PlayrunnerError, step: Step, scope: Scope) -> dict[str, Any]:
        if isinstance(error, HostUnreachable):
            return {"unreachable": True, "changed": False, "msg": str(error)}
        if self.shared.survey and isinstance(error, (NotYet, UndefinedVariable)):
            return {
                **PASSED_OVER,
                "absent": True,
            }  # what it speaks of is not there, so neither is it
        if isinstance(error, NotYet) and self.shared.options.check:
            return {"unknown": True, "changed": False, "msg": str(error)}
        if isinstance(error, (BadInput, UndefinedVariable, StepFailed, NotYet)):
            return {"failed": True, "changed": False, "msg": str(error)}
        raise error

    def _fence(self, flight: Flight) -> None:
        """The items of a loop all run; after the last, a failed one stops what follows."""
        if not flight.ignored:
            self.courier.fence([turn.parcel for turn in flight.turns if turn.parcel], id(flight))

    def _breaks(self, step: Step, turn: Turn) -> bool:
        if not step.loop or not step.loop.break_when or turn.values is None:
            return False
        return turn.scope.world.templar.truth(list(step.loop.break_when), turn.scope)


def _title(step: Step, scope: Scope) -> str:
    if not is_template(step.title):
        return step.title
    try:
        return str(scope.world.templar.render(step.title, scope))
    except PlayrunnerError:
        return step.title
