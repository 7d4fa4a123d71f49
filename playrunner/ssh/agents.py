"""Agents seen from the controller: started once per host, sent frames, reused from step to step."""

from __future__ import annotations

import json
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from playrunner.errors import (
    HostUnreachable,
    Interrupted,
    PlayrunnerError,
)
from playrunner.playbook import module_index
from playrunner.ssh import replies
from playrunner.ssh.agent_code import (
    STARTED,
    AgentKey,
    code_frame,
    command,
    first_bytes,
    loaded_at_start,
)
from playrunner.ssh.become_prompt import answer_prompt
from playrunner.ssh.connection import Channel
from playrunner.ssh.frames import ConnectionLost, FrameReader, ReceiveTimeout, TooLong
from playrunner.ssh.limits import GREETING_BYTES, LINE_BYTES, limits
from playrunner.ssh.pool import Pool
from playrunner.ssh.replies import InvalidReply, Outstanding, Reply, SentRequest
from playrunner.ssh.start_failure import did_not_start
from playrunner.text.streams import encoder

_encoded = encoder(json.JSONEncoder().default, allow_nan=True)
SEND_AT_BYTES = 1 << 14  # small frames travel together
FILE_BYTES = 1 << 20  # of a large file, read and sent at a time


class Agent:
    """One agent on one host. Not shared between threads."""

    def __init__(self, key: AgentKey, channel: Channel) -> None:
        self.key, self._channel = key, channel
        self._limits = limits()
        self._outgoing = bytearray()
        self._incoming = FrameReader(channel, self._limits.silent_seconds)
        self._outstanding = Outstanding(self._limits)
        self._loaded = set(loaded_at_start())
        self._next = 0
        self._started = False
        self.epoch = 0

    def request(self, module: str, request: dict[str, Any]) -> int:
        """Send a step, with the code it needs if the agent does not have it; returns its number."""
        path = module_index.import_path(module)
        if path not in self._loaded:
            self._outgoing += code_frame(path, frozenset(self._loaded))
            self._loaded.update(name for name, _ in module_index.sources(path))
        self._next += 1
        cls = module_index.module_class(module)
        self._outstanding.add(
            SentRequest(self._next, self.epoch, request, cls.answers, time.monotonic())
        )
        self.send(
            {
                "op": "run",
                "id": self._next,
                "module": path,
                "class": cls.__name__,
                "epoch": self.epoch,
                **request,
            }
        )
        return self._next

    def send(self, frame: dict[str, Any], body: bytes = b"") -> None:
        if body:
            frame["body"] = len(body)
        self._outgoing += _encoded(frame).encode() + b"\n" + body
        if len(self._outgoing) >= SEND_AT_BYTES:
            self.flush()

    def send_file(self, frame: dict[str, Any], path: Path, size: int) -> None:
        """Send a file as a frame's body, read piece by piece: it may be larger than the memory.
        The frame may say from where on."""
        start = frame.get("from", 0)
        left = size - start
        self.send({**frame, "body": left})
        self.flush()
        try:
            with path.open("rb") as file:
                file.seek(start)
                while left and (data := file.read(min(left, FILE_BYTES))):
                    self._send_now(data)
                    left -= len(data)
        except OSError as error:
            raise HostUnreachable(f"{path} cannot be read any more: {error.strerror}") from None
        if left:  # the agent waits for the rest, so the connection cannot be used any more
            raise HostUnreachable(f"{path} became shorter while it was sent; run again")

    def flush(self) -> None:
        if self._outgoing:
            data, self._outgoing = bytes(self._outgoing), bytearray()
            self._send_now(data)

    def _send_now(self, data: bytes) -> None:
        try:
            self._channel.send(data, self._limits.silent_seconds)
        except TimeoutError:
            raise self._silence() from None
        except (OSError, EOFError, ValueError) as error:
            self.expect_start()  # raises the reason if the agent never started
            raise ConnectionLost(str(error)) from None

    def receive(self) -> Reply:
        """Wait for the next reply and check it; a host that sends anything else is unreachable."""
        self.expect_start()
        try:
            frame = replies.parsed(self._incoming.line(LINE_BYTES))
            body = self._incoming.exactly(replies.body_size(frame, self._limits))
            reply = replies.checked(frame, body)
            self._outstanding.accept(reply)
            return reply
        except (InvalidReply, TooLong) as problem:
            raise HostUnreachable(
                f"{self.key.target.name}: the agent's reply is not valid: {problem}; check what"
                f" runs as {self.key.target.python or 'python3'} on that host"
            ) from None
        except ReceiveTimeout:
            raise self._silence() from None

    def expect_start(self) -> None:
        """Wait for the agent's first line; skip what a login shell prints before it."""
        greeting = 0
        try:
            while not self._started:
                line = self._incoming.line(GREETING_BYTES)
                self._started = line == STARTED
                greeting += len(line) + 1
                if greeting > GREETING_BYTES:
                    raise TooLong(f"a greeting of more than {GREETING_BYTES} bytes")
        except ConnectionLost:
            raise did_not_start(self.key, self._channel) from None
        except TooLong as problem:
            raise HostUnreachable(
                f"{self.key.target.name}: the agent did not start: {problem}"
            ) from None
        except ReceiveTimeout:
            raise self._silence() from None

    def skip_unanswered(self) -> None:
        """After a failure the agent skips the requests of earlier epochs."""
        self.epoch += 1

    def close(self) -> None:
        self._channel.close()

    def _silence(self) -> HostUnreachable:
        return HostUnreachable(
            f"{self.key.target.name}: no heartbeat from the agent for"
            f" {self._limits.silent_seconds:g} seconds (PLAYRUNNER_SILENT_SECONDS)"
        )


class Agents:
    """The agents of a run that no step is using; all are closed at its end."""

    def __init__(self, pool: Pool) -> None:
        limits()  # an invalid setting is reported before any host is contacted
        self.pool = pool
        self._lock = threading.Lock()
        self._free: dict[AgentKey, list[Agent]] = {}
        self._all: list[Agent] = []
        self._starting: dict[AgentKey, threading.Event] = {}
        self._failed: dict[AgentKey, PlayrunnerError] = {}
        self._closed = False
        # False closes agents after use: the open-file limit does not fit all hosts' connections
        self.keep_idle = True

    def acquire(self, key: AgentKey) -> Agent:
        with self._lock:
            starting = self._starting.get(key)
        if starting:
            starting.wait()  # it is being started in the background
        with self._lock:
            if self._free.get(key):
                return self._free[key].pop()
            failed = self._failed.pop(key, None)
            if self._closed:
                raise Interrupted("the run is ending")
        if failed:
            raise failed
        agent = _start(key, self.pool)
        with self._lock:
            self._all.append(agent)
            closed = self._closed
        if closed:
            agent.close()
            raise Interrupted("the run is ending")
        return agent

    def knows(self, key: AgentKey) -> bool:
        """Whether one is idle or being started, or has failed to start, as its next step says."""
        with self._lock:
            return bool(self._free.get(key)) or key in self._starting or key in self._failed

    def start_ahead(self, key: AgentKey) -> None:
        """Start an agent in the background; an `acquire` meanwhile waits for it."""
        ready = threading.Event()
        with self._lock:
            self._starting[key] = ready

        def start() -> None:
            try:
                agent = _start(key, self.pool)
                with self._lock:
                    self._all.append(agent)
                    self._free.setdefault(key, []).append(agent)
            except PlayrunnerError as error:
                with self._lock:
                    self._failed[key] = error  # raised in the first step that needs the host
            finally:
                with self._lock:
                    self._starting.pop(key, None)
                ready.set()

        threading.Thread(target=start, daemon=True).start()

    def release(self, agent: Agent) -> None:
        if not self.keep_idle:
            self.close_connection(agent)
            return
        agent.skip_unanswered()
        with self._lock:
            self._free.setdefault(agent.key, []).append(agent)

    def close_agent(self, agent: Agent) -> None:
        """Close an agent and keep its connection."""
        agent.close()
        with self._lock:
            if agent in self._all:
                self._all.remove(agent)

    def close_connection(self, agent: Agent) -> None:
        """Close an agent and its connection, which broke or cannot be trusted."""
        self.close_agent(agent)
        if agent.key.target.kind == "ssh":
            self.pool.drop(agent.key.target)

    def close(self) -> None:
        """Close every agent; what it still runs is killed."""
        with self._lock:
            self._closed = True
            agents, self._all, self._free = self._all, [], {}
        for agent in agents:
            agent.close()


def _start(key: AgentKey, pool: Pool) -> Agent:
    connection = pool.get(key.target)
    marker = f"[playrunner {secrets.token_hex(6)}] password: "
    first = first_bytes()
    # One with more rights than the login is not started before it is needed
    channel = connection.start(command(key, marker), b"" if key.become else first)
    agent = Agent(key, channel)
    if key.become and key.become.password and key.become.method != "doas":
        started = threading.Event()
        threading.Thread(
            target=answer_prompt, args=(channel, key.become, marker, started), daemon=True
        ).start()
        try:
            agent.expect_start()
        except PlayrunnerError:
            agent.close()
            raise
        finally:
            started.set()
    try:
        if not channel.is_ready:
            channel.send(first, limits().silent_seconds)
    except (OSError, EOFError, ValueError):
        raise did_not_start(key, channel) from None
    return agent
