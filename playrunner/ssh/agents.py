"""Agents as the controller sees them: started on a host once, spoken to in frames, handed from step
to step."""

from __future__ import annotations

import json
import secrets
import threading
import time
from typing import Any

from playrunner.errors import HostUnreachable, Interrupted, PlayrunnerError, StepFailed
from playrunner.playbook import module_index
from playrunner.ssh import replies
from playrunner.ssh.agent_code import NO_PYTHON, STARTED, Seat, agent_code, code_frame, command
from playrunner.ssh.connection import Channel
from playrunner.ssh.frames import ConnectionLost, FrameReader, Silent, TooLong
from playrunner.ssh.limits import GREETING_BYTES, LINE_BYTES, limits
from playrunner.ssh.pool import Pool
from playrunner.ssh.replies import Asked, NotAReply, Outstanding, Reply
from playrunner.ssh.targets import Become

SEND_AT_BYTES = 1 << 14  # small frames travel together
SHOWN_CHARACTERS = 300  # of a line in a message
EXIT_SECONDS = 10.0  # a program that closed its output ends soon after


class Agent:
    """One agent on one host. Not shared between threads."""

    def __init__(self, seat: Seat, channel: Channel) -> None:
        self.seat, self._channel = seat, channel
        self._limits = limits()
        self._outgoing = bytearray()
        self._incoming = FrameReader(channel, self._limits.silent_seconds)
        self._outstanding = Outstanding(self._limits)
        self._loaded: set[str] = set()
        self._next = 0
        self._started = False
        self.epoch = 0

    def request(self, module: str, request: dict[str, Any]) -> int:
        """Send a step, together with the code it needs when that is not there yet; its number comes
        back."""
        path = module_index.names()[module]
        if path not in self._loaded:
            self._outgoing += code_frame(path, frozenset(self._loaded))
            self._loaded.update(name for name, _ in module_index.sources(path))
        self._next += 1
        cls = module_index.module_class(module)
        self._outstanding.add(Asked(self._next, self.epoch, request, cls.answers, time.monotonic()))
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
        self._outgoing += json.dumps(frame).encode() + b"\n" + body
        if len(self._outgoing) >= SEND_AT_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._outgoing:
            data, self._outgoing = bytes(self._outgoing), bytearray()
            try:
                self._channel.send(data, self._limits.silent_seconds)
            except TimeoutError:
                raise self._silence() from None
            except (OSError, EOFError, ValueError) as error:
                self.expect_start()  # an agent that never started says why, and nothing was done
                raise ConnectionLost(str(error)) from None

    def receive(self) -> Reply:
        """The next reply from the host, checked; waits for it. A host that says anything else is
        given up."""
        self.expect_start()
        try:
            frame = replies.parsed(self._incoming.line(LINE_BYTES))
            body = self._incoming.exactly(replies.body_size(frame, self._limits))
            reply = replies.checked(frame, body)
            self._outstanding.accept(reply)
            return reply
        except (NotAReply, TooLong) as problem:
            raise HostUnreachable(
                f"{self.seat.target.name}: the agent's reply is not valid: {problem}; check what"
                f" runs as {self.seat.target.python or 'python3'} on that host"
            ) from None
        except Silent:
            raise self._silence() from None

    def expect_start(self) -> None:
        """Wait for the agent's first line; a login shell's greeting before it is passed over."""
        greeting = 0
        try:
            while not self._started:
                line = self._incoming.line(GREETING_BYTES)
                self._started = line == STARTED
                greeting += len(line) + 1
                if greeting > GREETING_BYTES:
                    raise TooLong(f"a greeting of more than {GREETING_BYTES} bytes")
        except ConnectionLost:
            raise _did_not_start(self.seat, self._channel) from None
        except TooLong as problem:
            raise HostUnreachable(
                f"{self.seat.target.name}: the agent did not start: {problem}"
            ) from None
        except Silent:
            raise self._silence() from None

    def go_on(self) -> None:
        """After a failure the host passes over what was sent before; what is sent from now on
        counts again."""
        self.epoch += 1

    def close(self) -> None:
        self._channel.close()

    def _silence(self) -> HostUnreachable:
        return HostUnreachable(
            f"{self.seat.target.name}: no sign of life from the agent for"
            f" {self._limits.silent_seconds:g} seconds (PLAYRUNNER_SILENT_SECONDS)"
        )


class Agents:
    """Agents that are free to take; a run starts with none and leaves none behind."""

    def __init__(self, pool: Pool) -> None:
        limits()  # a setting that cannot be used is found before a host is touched
        self.pool = pool
        self._lock = threading.Lock()
        self._free: dict[Seat, list[Agent]] = {}
        self._all: list[Agent] = []
        self._starting: dict[Seat, threading.Event] = {}
        self._failed: dict[Seat, PlayrunnerError] = {}
        self._closed = False
        # Agents that are given back; without room for all hosts' connections they are ended
        self.keeps = True

    def take(self, seat: Seat) -> Agent:
        with self._lock:
            starting = self._starting.get(seat)
        if starting:
            starting.wait()  # it was called ahead
        with self._lock:
            if self._free.get(seat):
                return self._free[seat].pop()
            failed = self._failed.pop(seat, None)
            if self._closed:
                raise Interrupted("the run is ending")
        if failed:
            raise failed
        agent = _start(seat, self.pool)
        with self._lock:
            self._all.append(agent)
            closed = self._closed
        if closed:
            agent.close()
            raise Interrupted("the run is ending")
        return agent

    def start_ahead(self, seat: Seat) -> None:
        """Start an agent before anyone asks for it; whoever asks meanwhile waits for this one."""
        ready = threading.Event()
        with self._lock:
            self._starting[seat] = ready

        def start() -> None:
            try:
                agent = _start(seat, self.pool)
                with self._lock:
                    self._all.append(agent)
                    self._free.setdefault(seat, []).append(agent)
            except PlayrunnerError as error:
                with self._lock:
                    self._failed[seat] = error  # for the first step that needs the host to tell
            finally:
                with self._lock:
                    self._starting.pop(seat, None)
                ready.set()

        threading.Thread(target=start, daemon=True).start()

    def give(self, agent: Agent) -> None:
        if not self.keeps:
            self.lose(agent)
            return
        agent.go_on()
        with self._lock:
            self._free.setdefault(agent.seat, []).append(agent)

    def end(self, agent: Agent) -> None:
        """An agent that is of no use any more; the connection it came over is."""
        agent.close()
        with self._lock:
            if agent in self._all:
                self._all.remove(agent)

    def lose(self, agent: Agent) -> None:
        """An agent whose connection broke, or cannot be trusted."""
        self.end(agent)
        if agent.seat.target.kind == "ssh":
            self.pool.drop(agent.seat.target)

    def close(self) -> None:
        """End every agent and whatever it still runs."""
        with self._lock:
            self._closed = True
            agents, self._all, self._free = self._all, [], {}
        for agent in agents:
            agent.close()


def _start(seat: Seat, pool: Pool) -> Agent:
    connection = pool.get(seat.target)
    marker = f"[playrunner {secrets.token_hex(6)}] password: "
    channel = connection.start(command(seat, marker))
    agent = Agent(seat, channel)
    if seat.become and seat.become.password:
        started = threading.Event()
        threading.Thread(
            target=_answer_prompt, args=(channel, seat.become, marker, started), daemon=True
        ).start()
        try:
            agent.expect_start()
        except PlayrunnerError:
            agent.close()
            raise
        finally:
            started.set()
    try:
        settings = json.dumps(limits().for_agent()).encode() + b"\n"
        channel.send(b"".join((*agent_code(), settings)), limits().silent_seconds)
    except (OSError, EOFError, ValueError):
        raise _did_not_start(seat, channel) from None
    return agent


def _answer_prompt(channel: Channel, become: Become, marker: str, started: threading.Event) -> None:
    prompt = marker if become.method == "sudo" else "assword:"
    while not started.wait(0.02):  # a prompt on standard error has no event to wait for
        if prompt in channel.complaints():
            try:
                channel.send(become.password.encode() + b"\n")
            except (OSError, EOFError, ValueError):
                pass  # it has ended, and whoever waits for its start is told so
            return


def _did_not_start(seat: Seat, channel: Channel) -> Exception:
    status = channel.status(EXIT_SECONDS)
    said = channel.complaints().strip()
    host = seat.target.name
    if seat.become:
        hint = (
            "check the password"
            if seat.become.password
            else "set PLAYRUNNER_BECOME_PASSWORD, or use --ask-become-pass, if it needs a password"
        )
        return StepFailed(
            f"{host}: {seat.become.method} to {seat.become.user} was refused: {last_lines(said)};"
            f" {hint}"
        )
    if status == NO_PYTHON or "not found" in said or "No such file" in said:
        python = seat.target.python or "python3"
        return StepFailed(
            f'{host} has no {python}; install it ("invoke run {host} --module raw --args ..." works'
            " without it), or set ansible_python_interpreter"
        )
    return HostUnreachable(f"{host}: the agent did not start (status {status}): {last_lines(said)}")


def last_lines(text: str) -> str:
    lines = [line.strip()[:SHOWN_CHARACTERS] for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:]) or "it said nothing"
