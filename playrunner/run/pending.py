"""Under way: the steps of one host that were started and not yet heard of, taken in one after
another, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from playrunner.errors import HostUnreachable, StepFailed
from playrunner.model import Position
from playrunner.playbook import module_index
from playrunner.results import Result, status_of
from playrunner.run.background import Background, Branch
from playrunner.run.batch import Batch
from playrunner.run.conditions import judge
from playrunner.run.handlers import Handlers
from playrunner.run.inflight import Flight, Turn
from playrunner.run.rollback import Undo
from playrunner.run.run_state import Shared
from playrunner.ssh.dispatcher import Courier
from playrunner.variables.host_memory import UnknownValues
from playrunner.variables.origins import without_settings
from playrunner.variables.scope import Waiter

BEFORE_ALL: Position = (-1,)
_OWN_FACTS = ("play.set_fact", "play.include_vars")  # the playbook's own words


class StepStopped(Exception):
    """A step failed on this host, and nothing around it ignores that."""

    def __init__(self, flight: Flight, values: Mapping[str, Any]) -> None:
        super().__init__(str(values.get("msg", "")))
        self.flight, self.values = flight, values


class HostGone(Exception):
    """The host does not answer any more."""


class UnderWay(Waiter):
    """One host's flights; reading a value that one of them will give waits for it."""

    def __init__(
        self, shared: Shared, batch: Batch, host: str, courier: Courier, handlers: Handlers
    ) -> None:
        self.shared, self.batch, self.host, self.courier, self.handlers = (
            shared,
            batch,
            host,
            courier,
            handlers,
        )
        self.memory = shared.world.memory(host)
        self.position: Position = BEFORE_ALL  # of the step that was started last
        self.rescuers = 0  # blocks around the current step that would rescue it
        self.tentative = {}  # facts set by steps that are not confirmed yet
        self._flights: deque[Flight] = deque()
        self._pending: dict[str, Flight] = {}  # by the name each will register
        self._producers: dict[str, Flight] = {}  # the same, also of those that are done
        self.background = Background(batch)

    def branch(self) -> Branch:
        """A waiter for a step in the background that is started now."""
        return Branch(self.background, self._producers, self)

    def add(self, flight: Flight, gives_facts: bool = False) -> None:
        self._flights.append(flight)
        if flight.step.register:
            self._pending[flight.step.register] = self._producers[flight.step.register] = flight
        if gives_facts:
            self._pending["ansible_facts"] = flight

    # What scopes ask for.

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
        while self._flights:
            flight = self._flights.popleft()
            try:
                if flight.landed:
                    flight = self.background.wait(flight)
                else:
                    flight.wait(self.courier)
            except (HostUnreachable, StepFailed) as error:
                word = "unreachable" if isinstance(error, HostUnreachable) else "failed"
                for turn in flight.turns:
                    turn.values = turn.values or {word: True, "changed": False, "msg": str(error)}
            if not flight.landed:
                self.take_in(flight)
            self._stop_on(flight)
            if flight is until:
                return

    def take_in(self, flight: Flight) -> None:
        """Judge a result, keep what it gives, and tell of it; what fails is stopped on when its
        turn comes."""
        with flight.censoring():
            self._take_in(flight)

    def _take_in(self, flight: Flight) -> None:
        step = flight.step
        for turn in flight.turns:
            judge(flight, turn)
            self._name_facts(flight, turn)
        values = flight.values()
        if values.get("unknown") and not self.shared.options.check:
            values.pop("unknown")  # check_mode on a step of an ordinary run: passed over, as asked
        if step.register:
            for known in (values, *(values["results"] if flight.looped else ())):
                known.setdefault("failed", False)
            self.memory.given[step.register] = self._registered(flight, values)
            if self._pending.get(step.register) is flight:
                del self._pending[step.register]
        self._learn(flight)
        status = status_of(values)
        self.shared.hear(self._result(flight, values, status))
        if values.get("changed") and status not in ("failed", "unreachable"):
            self._notify(flight)
            self._remember(flight)

    def _registered(self, flight: Flight, values: dict[str, Any]) -> dict[str, Any]:
        """What later steps read; of what --check would have made, or what is not there to delete,
        nothing is known."""
        if not flight.landed:
            return UnknownValues(values) if values.get("unknown") else values
        if flight.looped:
            return {
                **values,
                "results": [
                    UnknownValues(one) if _is_open(one) else one for one in values["results"]
                ],
            }
        return UnknownValues(values) if _is_open(values) else values

    def _stop_on(self, flight: Flight) -> None:
        if flight.problem:
            self._drop()
            raise flight.problem
        if flight.abandoned:
            return
        values = flight.values()
        status = status_of(values)
        stops = status == "failed" and not flight.ignored
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
                memory = self.shared.world.memory(flight.facts_for or self.host)
                if flight.step.module == "play.set_fact":
                    memory.given.update(facts)
                    for name in facts:
                        self.tentative.pop(name, None)
                elif flight.step.module == "play.include_vars":
                    memory.included.update(facts)
                else:
                    memory.facts.update(facts)

    def _name_facts(self, flight: Flight, turn: Turn) -> None:
        """Facts carry the prefix that playbooks know them by; none is a setting of the runner or of
        a connection."""
        facts = (turn.values or {}).get("ansible_facts")
        if not turn.values or not isinstance(facts, dict) or flight.step.module in _OWN_FACTS:
            return
        if module_index.runs_on_host(flight.step.module):
            facts = {
                name if name.startswith("ansible_") else f"ansible_{name}": value
                for name, value in facts.items()
            }
        turn.values["ansible_facts"], refused = without_settings(facts)
        if refused:
            said = turn.values.get("warnings")
            shown = f"{', '.join(refused[:5])}{', ...' if len(refused) > 5 else ''}"
            turn.values["warnings"] = [
                *(said if isinstance(said, list) else ()),
                (
                    f"facts of {flight.delegated_to or self.host} are not taken, since they name"
                    f" settings that only a playbook or inventory gives: {shown}"
                ),
            ]

    def _notify(self, flight: Flight) -> None:
        if not flight.step.notify:
            return
        for turn in flight.turns:
            if (turn.values or {}).get("changed"):
                names = self.shared.world.templar.render(list(flight.step.notify), turn.scope)
                self.handlers.notify(names, flight.step.place)

    def _remember(self, flight: Flight) -> None:
        """Under --rollback: what this change would take to be taken back."""
        if not self.shared.options.rollback or self.shared.options.check:
            return
        for turn in flight.turns:
            if (
                turn.parcel
                and turn.parcel.may_be_repeated
                and turn.values
                and turn.values.get("diff")
            ):
                parcel = turn.parcel
                self.shared.changes.append(
                    Undo(
                        self.host,
                        flight.title,
                        parcel.agent.seat,
                        parcel.module,
                        parcel.request,
                        turn.values["diff"].get("before"),
                        flight.hidden,
                    )
                )

    def _drop(self) -> None:
        """What was sent ahead of a failure is passed over by the agent; nobody waits for it."""
        for flight in self.background.stop():
            if flight.turns:
                self.shared.report.output(
                    self.host,
                    f"{flight.title}: no longer waited for; the next run goes on from there",
                )
        self._flights.clear()
        self._pending.clear()
        self.tentative.clear()
        self.courier.forget()

    def _result(self, flight: Flight, values: Mapping[str, Any], status: str) -> Result:
        step = flight.step
        shown, items = flight.shown(values)
        seconds = sum(turn.parcel.seconds if turn.parcel else turn.seconds for turn in flight.turns)
        return Result(
            self.host,
            flight.title,
            step.module,
            status,
            shown,
            round(seconds, 3),
            step.place,
            step.position,
            items,
            rescued=status == "failed" and not flight.ignored and self.rescuers > 0,
            ignored=flight.ignored,
            attempts=max((turn.attempts for turn in flight.turns), default=1),
            delegated_to=flight.shown_delegate(),
            play=self.shared.play_number,
            weight=flight.weight(),
        )


def _is_open(values: Mapping[str, Any]) -> bool:
    """Whether what the step gives is not there yet, or not there at all."""
    return bool(values.get("unknown") or values.get("foreseen") or values.get("absent"))
