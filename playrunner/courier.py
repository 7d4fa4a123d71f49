"""Courier: carries one host's steps to its agents and their answers back, in order, through one lost connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playrunner import catalogue
from playrunner.agents import Agent, Agents, ConnectionLost, Seat
from playrunner.errors import HostUnreachable
from playrunner.module import Action
from playrunner.shipments import Shipments

LOST = ("the connection was lost while this step may have been running; it is not repeated,"
        " since it may have done its work: look at the host, then run again")


@dataclass
class Parcel:
    """A step on its way to an agent, and what came back."""

    module: str
    request: dict[str, Any]
    agent: Agent
    number: int
    values: dict[str, Any] | None = None
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0

    @property
    def may_be_repeated(self) -> bool:
        return not issubclass(catalogue.module_class(self.module), Action) and not self.request.get("async")


class Courier:
    """One strand's agents; used by one thread."""

    def __init__(self, agents: Agents, shipments: Shipments, show: Callable[[str], None]) -> None:
        self._agents, self._shipments, self._show = agents, shipments, show
        self._held: dict[Seat, Agent] = {}
        self._under_way: deque[Parcel] = deque()
        self._latest: Agent | None = None
        self._reopened: set[Seat] = set()

    def send(self, seat: Seat, module: str, request: dict[str, Any]) -> Parcel:
        """Send a step without waiting for its answer; what goes to another agent waits until the first is done."""
        agent = self._held.get(seat)
        if agent is None:
            self.drain()
            agent = self._held[seat] = self._agents.take(seat)
        if agent is not self._latest:
            self.drain()
            self._latest = agent
        parcel = Parcel(module, request, agent, 0)
        self._under_way.append(parcel)
        try:
            parcel.number = agent.request(module, request)
        except ConnectionLost as lost:
            self._reopen(agent, lost)
        return parcel

    def wait(self, parcel: Parcel) -> dict[str, Any]:
        while parcel.values is None:
            self._receive(parcel.agent)
        return parcel.values

    def drain(self) -> None:
        while self._under_way:
            self._receive(self._under_way[0].agent)

    def flush(self) -> None:
        if self._latest and self._under_way:
            try:
                self._latest.flush()
            except ConnectionLost as lost:
                self._reopen(self._latest, lost)

    def forget(self) -> None:
        """After a failure: answers to what was sent ahead no longer matter, and the agents go on from here."""
        self._under_way.clear()
        for agent in self._held.values():
            agent.go_on()

    def release(self) -> None:
        """Hand the agents back for the next play or another host's delegated step."""
        for agent in self._held.values():
            self._agents.give(agent)
        self._held.clear()
        self._latest = None

    def reset(self, seat: Seat) -> None:
        """Close the connection, so that the next step opens a new one."""
        self.drain()
        agent = self._held.pop(seat, None)
        if agent:
            self._agents.lose(agent)

    def _receive(self, agent: Agent) -> None:
        try:
            agent.flush()
            frame, body = agent.receive()
        except ConnectionLost as lost:
            self._reopen(agent, lost)
            return
        parcel = next((parcel for parcel in self._under_way if parcel.number == frame["id"] and parcel.agent is agent), None)
        if parcel is None:
            return  # an answer nobody waits for any more
        if "need" in frame:
            packed, data = self._shipments.packed(frame["need"])
            agent.send({"op": "blob", "sha1": frame["need"], "packed": packed}, data)
        elif "out" in frame:
            if parcel.request.get("live", True):  # of a hidden step nothing is shown, whatever its host sends
                self._show(frame["out"])
        else:
            self._under_way.remove(parcel)
            parcel.values = frame.get("result", {"passed": True})
            parcel.body, parcel.seconds = body, frame.get("seconds", 0.0)

    def _reopen(self, agent: Agent, lost: ConnectionLost) -> None:
        """Open a lost connection once more and repeat what may be repeated; the rest is reported, not guessed."""
        waiting = [parcel for parcel in self._under_way if parcel.agent is agent]
        self._agents.lose(agent)
        self._held.pop(agent.seat, None)
        if agent.seat in self._reopened:
            raise HostUnreachable(f"{agent.seat.target.name}: the connection was lost again{_said(lost)}")
        self._reopened.add(agent.seat)
        fresh = self._held[agent.seat] = self._latest = self._agents.take(agent.seat)
        stopped = False
        for parcel in waiting:
            if stopped:
                parcel.values = {"passed": True}
            elif parcel.may_be_repeated:
                parcel.agent, parcel.number = fresh, fresh.request(parcel.module, parcel.request)
            else:
                parcel.values = {"failed": True, "changed": False, "msg": LOST}
                stopped = parcel.request.get("halt", True)
        self._under_way = deque(parcel for parcel in self._under_way if parcel.values is None)


def _said(lost: ConnectionLost) -> str:
    return f" ({lost})" if str(lost) else ""


