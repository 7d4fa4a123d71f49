"""Courier: carries one host's steps to its agents and their answers back, in order, through one
lost connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.hostside.module import Action
from playrunner.playbook import module_index
from playrunner.ssh.agent_code import Seat
from playrunner.ssh.agents import Agent, Agents, last_lines
from playrunner.ssh.file_uploads import Shipments
from playrunner.ssh.frames import ConnectionLost

LOST = (
    "the connection was lost while this step may have been running; it is not repeated,"
    " since it may have done its work: look at the host, then run again"
)


@dataclass
class Parcel:
    """A step on its way to an agent, and what came back."""

    module: str
    request: dict[str, Any]
    agent: Agent
    number: int = 0
    values: dict[str, Any] | None = None
    # Why there will be no values: the agent did not start, or was given up
    error: PlayrunnerError | None = None
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.values is None and self.error is None

    @property
    def may_be_repeated(self) -> bool:
        return not issubclass(
            module_index.module_class(self.module), Action
        ) and not self.request.get("async")


class Courier:
    """One strand's agents; used by one thread."""

    def __init__(self, agents: Agents, shipments: Shipments, show: Callable[[str], None]) -> None:
        self._agents, self._shipments, self._show = agents, shipments, show
        self._held: dict[Seat, Agent] = {}
        self._under_way: deque[Parcel] = deque()
        self._latest: Agent | None = None
        self._reopened: set[Seat] = set()

    def send(self, seat: Seat, module: str, request: dict[str, Any]) -> Parcel:
        """Send a step without waiting for its answer; what goes to another agent waits until the
        first is done."""
        agent = self._held.get(seat)
        if agent is None:
            self.drain()
            agent = self._held[seat] = self._agents.take(seat)
        if agent is not self._latest:
            self.drain()
            self._latest = agent
        parcel = Parcel(module, request, agent)
        self._under_way.append(parcel)
        self._attempt(agent, lambda: self._hand_over(parcel, agent))
        if parcel.error:
            raise parcel.error
        return parcel

    def fence(self, parcels: list[Parcel], group: int) -> None:
        """Behind the last item of a loop: when one of them failed, the agent stops here."""
        agent = parcels[0].agent
        if self._held.get(agent.seat) is agent:  # not given up meanwhile
            self._attempt(agent, lambda: agent.send({"op": "fence", "group": group}))

    def wait(self, parcel: Parcel) -> dict[str, Any]:
        while parcel.is_open:
            self._receive(parcel.agent)
        if parcel.error:
            raise parcel.error
        assert parcel.values is not None
        return parcel.values

    def drain(self) -> None:
        while self._under_way:
            self._receive(self._under_way[0].agent)

    def flush(self) -> None:
        if self._latest and self._under_way:
            self._attempt(self._latest, self._latest.flush)

    def forget(self) -> None:
        """After a failure: answers to what was sent ahead no longer matter, and the agents go on
        from here."""
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

    def _hand_over(self, parcel: Parcel, agent: Agent) -> None:
        parcel.agent, parcel.number = agent, agent.request(parcel.module, parcel.request)

    def _receive(self, agent: Agent) -> None:
        self._attempt(agent, lambda: self._take_in(agent))

    def _take_in(self, agent: Agent) -> None:
        agent.flush()
        reply = agent.receive()
        parcel = next(
            (one for one in self._under_way if one.number == reply.number and one.agent is agent),
            None,
        )
        if parcel is None:
            return  # an answer nobody waits for any more
        if reply.kind == "need":
            packed, data = self._shipments.packed(reply.text)
            agent.send({"op": "blob", "sha1": reply.text, "packed": packed}, data)
        elif reply.kind == "out":
            if parcel.request.get(
                "live", True
            ):  # of a hidden step nothing is shown, whatever its host sends
                self._show(reply.text)
        elif reply.kind != "alive":
            self._under_way.remove(parcel)
            parcel.values = {"passed": True} if reply.kind == "passed" else reply.values
            parcel.body, parcel.seconds = reply.body, reply.seconds

    def _attempt(self, agent: Agent, do: Callable[[], None]) -> None:
        """Use an agent; when it cannot be used any more, every step that it has is told, and no
        other."""
        try:
            do()
        except ConnectionLost as lost:
            self._reopen(agent, lost)
        except HostUnreachable as error:
            self._agents.lose(agent)
            self._give_up(agent, error)
        except (
            PlayrunnerError
        ) as error:  # it did not start (sudo refused, no Python); the connection is good
            self._agents.end(agent)
            self._give_up(agent, error)

    def _give_up(self, agent: Agent, error: PlayrunnerError) -> None:
        if self._held.get(agent.seat) is agent:
            del self._held[agent.seat]
        for parcel in self._under_way:
            if parcel.agent is agent:
                parcel.error = error
        self._under_way = deque(parcel for parcel in self._under_way if parcel.is_open)

    def _reopen(self, agent: Agent, lost: ConnectionLost) -> None:
        """Open a lost connection once more and repeat what may be repeated; the rest is reported,
        not guessed."""
        self._agents.lose(agent)
        if agent.seat in self._reopened:
            self._give_up(
                agent,
                HostUnreachable(
                    f"{agent.seat.target.name}: the connection was lost again{_said(lost)}"
                ),
            )
            return
        self._reopened.add(agent.seat)
        try:
            fresh = self._held[agent.seat] = self._latest = self._agents.take(agent.seat)
        except PlayrunnerError as error:
            self._give_up(agent, error)
            return
        waiting = [parcel for parcel in self._under_way if parcel.agent is agent]
        self._attempt(fresh, lambda: self._repeat(waiting, fresh))

    def _repeat(self, waiting: list[Parcel], fresh: Agent) -> None:
        for parcel in waiting:
            parcel.agent = fresh
        stopped = False
        for parcel in waiting:
            if stopped:
                parcel.values = {"passed": True}
            elif parcel.may_be_repeated:
                self._hand_over(parcel, fresh)
            else:
                parcel.values = {"failed": True, "changed": False, "msg": LOST}
                stopped = parcel.request.get("halt", True)
        self._under_way = deque(parcel for parcel in self._under_way if parcel.is_open)


def _said(lost: ConnectionLost) -> str:
    return f" ({last_lines(str(lost))})" if str(lost) else ""
