"""Sends one host's steps to its agents and returns their results in order; a connection that is
lost is opened again once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Any

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.frozen import mutable
from playrunner.hostside.module import Action
from playrunner.playbook import module_index
from playrunner.ssh.agent_code import AgentKey
from playrunner.ssh.agents import Agent, Agents
from playrunner.ssh.file_uploads import LARGE_BYTES, FileUploads
from playrunner.ssh.frames import ConnectionLost
from playrunner.ssh.replies import Reply
from playrunner.ssh.start_failure import last_lines

LOST = (
    "the connection was lost while this step may have been running; it is not repeated,"
    " since it may have done its work: look at the host, then run again"
)


@mutable
class AgentRequest:
    """A step sent to an agent, and its result."""

    module: str
    request: dict[str, Any]
    agent: Agent
    number: int = 0
    values: dict[str, Any] | None = None
    # Why there will be no values: the agent did not start, or failed
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


class AgentDispatcher:
    """The agents one host's run uses; not shared between threads."""

    def __init__(self, agents: Agents, uploads: FileUploads, show: Callable[[str], None]) -> None:
        self._agents, self._uploads, self._show = agents, uploads, show
        self._agents_held: dict[AgentKey, Agent] = {}
        self._pending: deque[AgentRequest] = deque()
        self._latest: Agent | None = None
        self._reopened: set[AgentKey] = set()
        self._continued: dict[AgentKey, int] = {}  # from which byte on, at the latest

    def send(self, key: AgentKey, module: str, request: dict[str, Any]) -> AgentRequest:
        """Send a step without waiting for its result; one for another agent first waits for those
        already sent."""
        agent = self._agents_held.get(key)
        if agent is None:
            self.drain()
            agent = self._agents_held[key] = self._agents.acquire(key)
        if agent is not self._latest:
            self.drain()
            self._latest = agent
        agent_request = AgentRequest(module, request, agent)
        self._pending.append(agent_request)
        self._use(agent, lambda: self._submit(agent_request, agent))
        if agent_request.error:
            raise agent_request.error
        return agent_request

    def fence(self, agent_requests: list[AgentRequest], group: int) -> None:
        """Mark the end of a loop: if one of its items failed, the agent stops here."""
        agent = agent_requests[0].agent
        if self._agents_held.get(agent.key) is agent:  # still in use
            self._use(agent, lambda: agent.send({"op": "fence", "group": group}))

    def wait(self, agent_request: AgentRequest) -> dict[str, Any]:
        while agent_request.is_open:
            self._receive(agent_request.agent)
        if agent_request.error:
            raise agent_request.error
        assert agent_request.values is not None
        return agent_request.values

    def drain(self) -> None:
        while self._pending:
            self._receive(self._pending[0].agent)

    def flush(self) -> None:
        if self._latest and self._pending:
            self._use(self._latest, self._latest.flush)

    def drop_pending(self) -> None:
        """After a failure: drop the requests sent ahead; the agents skip them."""
        self._pending.clear()
        for agent in self._agents_held.values():
            agent.skip_unanswered()

    def release(self) -> None:
        """Return the agents, for the next play or another host's delegated step."""
        for agent in self._agents_held.values():
            self._agents.release(agent)
        self._agents_held.clear()
        self._latest = None

    def reset(self, key: AgentKey) -> None:
        """Close the connection, so that the next step opens a new one."""
        self.drain()
        agent = self._agents_held.pop(key, None)
        if agent:
            self._agents.close_connection(agent)

    def _submit(self, agent_request: AgentRequest, agent: Agent) -> None:
        agent_request.agent = agent
        agent_request.number = agent.request(agent_request.module, agent_request.request)

    def _receive(self, agent: Agent) -> None:
        self._use(agent, lambda: self._handle_reply(agent))

    def _handle_reply(self, agent: Agent) -> None:
        agent.flush()
        reply = agent.receive()
        agent_request = next(
            (sent for sent in self._pending if sent.number == reply.number and sent.agent is agent),
            None,
        )
        if agent_request is None:
            return  # the request was dropped after a failure
        if reply.kind == "need":
            self._send_file(agent, reply)
        elif reply.kind == "out":
            # Nothing of a hidden step (no_log) is shown, whatever its host sends
            if agent_request.request.get("live", True):
                self._show(reply.text)
        elif reply.kind != "alive":
            self._pending.remove(agent_request)
            agent_request.values = {"passed": True} if reply.kind == "passed" else reply.values
            agent_request.body, agent_request.seconds = reply.body, reply.seconds

    def _send_file(self, agent: Agent, reply: Reply) -> None:
        frame: dict[str, Any] = {"op": "blob", "sha1": reply.text}
        if reply.start is not None:
            frame |= {"id": reply.number, "from": reply.start}
            # A connection that carried much of a large file may be lost once more
            if reply.start >= self._continued.get(agent.key, 0) + LARGE_BYTES:
                self._continued[agent.key] = reply.start
                self._reopened.discard(agent.key)
        if large := self._uploads.large_file(reply.text):
            agent.send_file(frame, *large)
        elif reply.start is not None:  # it was encrypted, and is held here
            agent.send(frame, self._uploads.content(reply.text)[reply.start :])
        else:
            packed, data = self._uploads.packed(reply.text)
            agent.send({**frame, "packed": packed}, data)

    def _use(self, agent: Agent, do: Callable[[], None]) -> None:
        """Use an agent; when it fails, the requests it has fail with it, and no others."""
        try:
            do()
        except ConnectionLost as lost:
            self._reopen(agent, lost)
        except HostUnreachable as error:
            self._agents.close_connection(agent)
            self._fail_requests(agent, error)
        except PlayrunnerError as error:
            # It did not start (sudo refused, no Python); the connection is good
            self._agents.close_agent(agent)
            self._fail_requests(agent, error)

    def _fail_requests(self, agent: Agent, error: PlayrunnerError) -> None:
        if self._agents_held.get(agent.key) is agent:
            del self._agents_held[agent.key]
        for agent_request in self._pending:
            if agent_request.agent is agent:
                agent_request.error = error
        self._pending = deque(
            agent_request for agent_request in self._pending if agent_request.is_open
        )

    def _reopen(self, agent: Agent, lost: ConnectionLost) -> None:
        """Open a lost connection again and repeat idempotent steps; the others fail: they may have
        run."""
        self._agents.close_connection(agent)
        if agent.key in self._reopened:
            self._fail_requests(
                agent,
                HostUnreachable(
                    f"{agent.key.target.name}: the connection was lost again{_detail(lost)}"
                ),
            )
            return
        self._reopened.add(agent.key)
        try:
            replacement = self._agents_held[agent.key] = self._latest = self._agents.acquire(
                agent.key
            )
        except PlayrunnerError as error:
            self._fail_requests(agent, error)
            return
        waiting = [agent_request for agent_request in self._pending if agent_request.agent is agent]
        self._use(replacement, lambda: self._repeat(waiting, replacement))

    def _repeat(self, waiting: list[AgentRequest], replacement: Agent) -> None:
        for agent_request in waiting:
            agent_request.agent = replacement
        stopped = False
        for agent_request in waiting:
            if stopped:
                agent_request.values = {"passed": True}
            elif agent_request.may_be_repeated:
                self._submit(agent_request, replacement)
            else:
                agent_request.values = {"failed": True, "changed": False, "msg": LOST}
                stopped = agent_request.request.get("halt", True)
        self._pending = deque(
            agent_request for agent_request in self._pending if agent_request.is_open
        )


def _detail(lost: ConnectionLost) -> str:
    return f" ({last_lines(str(lost))})" if str(lost) else ""
