"""Agents as the controller sees them: started on a host once, spoken to in frames, handed from step to step."""

from __future__ import annotations

import importlib.util
import json
import marshal
import secrets
import shlex
import threading
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from playrunner import catalogue
from playrunner.connection import Channel
from playrunner.errors import HostUnreachable, PlayrunnerError, StepFailed
from playrunner.pool import Pool
from playrunner.targets import Become, Target

SEND_AT_BYTES = 1 << 14  # small frames travel together
_STARTED = b"playrunner-agent\n"
_NO_PYTHON = 127
MARSHAL_VERSION = 4  # what every Python from 3.4 on reads


class ConnectionLost(Exception):
    """The agent's end is gone; what it was doing may or may not have happened."""


@dataclass(frozen=True)
class Seat:
    """Which agent a step needs: the host it is on and who it runs as."""

    target: Target
    become: Become | None = None


class Agent:
    """One agent on one host. Not shared between threads."""

    def __init__(self, seat: Seat, channel: Channel) -> None:
        self.seat, self._channel = seat, channel
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._loaded: set[str] = set()
        self._next = 0
        self._started = False
        self.epoch = 0

    def request(self, module: str, request: dict[str, Any]) -> int:
        """Send a step, together with the code it needs when that is not there yet; its number comes back."""
        path = catalogue.names()[module]
        if path not in self._loaded:
            self._outgoing += _code_frame(path, frozenset(self._loaded))
            self._loaded.update(name for name, _ in catalogue.sources(path))
        self._next += 1
        name = catalogue.module_class(module).__name__
        self.send({"op": "run", "id": self._next, "module": path, "class": name, "epoch": self.epoch, **request})
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
                self._channel.send(data)
            except (OSError, EOFError) as error:
                self.expect_start()  # an agent that never started says why, and nothing was done
                raise ConnectionLost(str(error)) from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """The next frame from the host; waits for it."""
        self.expect_start()
        frame = json.loads(self._line())
        return frame, self._exactly(frame["body"]) if "body" in frame else b""

    def expect_start(self) -> None:
        """Wait for the agent's first line; a login shell's greeting before it is passed over."""
        try:
            while not self._started:
                self._started = self._line() + b"\n" == _STARTED
        except ConnectionLost:
            raise _did_not_start(self.seat, self._channel) from None

    def go_on(self) -> None:
        """After a failure the host passes over what was sent before; what is sent from now on counts again."""
        self.epoch += 1

    def close(self) -> None:
        self._channel.close()

    def _line(self) -> bytes:
        while (end := self._incoming.find(b"\n")) < 0:
            self._fill()
        line = bytes(self._incoming[:end])
        del self._incoming[:end + 1]
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._incoming) < size:
            self._fill()
        body = bytes(self._incoming[:size])
        del self._incoming[:size]
        return body

    def _fill(self) -> None:
        try:
            data = self._channel.receive()
        except (OSError, EOFError) as error:
            raise ConnectionLost(str(error)) from None
        if not data:
            raise ConnectionLost(self._channel.complaints().strip())
        self._incoming += data


class Agents:
    """Agents that are free to take; a run starts with none and leaves none behind."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._lock = threading.Lock()
        self._free: dict[Seat, list[Agent]] = {}
        self._all: list[Agent] = []
        self._starting: dict[Seat, threading.Event] = {}
        self._failed: dict[Seat, PlayrunnerError] = {}
        self._closed = False
        self.keeps = True  # agents that are given back; without room for all hosts' connections they are ended

    def take(self, seat: Seat) -> Agent:
        with self._lock:
            starting = self._starting.get(seat)
        if starting:
            starting.wait()  # it was called ahead
        with self._lock:
            if self._free.get(seat):
                return self._free[seat].pop()
            failed = self._failed.pop(seat, None)
        if failed:
            raise failed
        agent = _start(seat, self.pool)
        with self._lock:
            self._all.append(agent)
            closed = self._closed
        if closed:
            agent.close()
            raise ConnectionLost("the run is ending")
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

    def lose(self, agent: Agent) -> None:
        """An agent whose connection broke."""
        agent.close()
        with self._lock:
            if agent in self._all:
                self._all.remove(agent)
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
    channel = connection.start(_command(seat, marker))
    agent = Agent(seat, channel)
    if seat.become and seat.become.password:
        threading.Thread(target=_answer_prompt, args=(channel, seat.become, marker), daemon=True).start()
        agent.expect_start()
    try:
        channel.send(b"".join(_agent_code()))
    except (OSError, EOFError):
        raise _did_not_start(seat, channel) from None
    return agent


def _answer_prompt(channel: Channel, become: Become, marker: str) -> None:
    import time

    prompt = marker if become.method == "sudo" else "assword:"
    for _ in range(200):
        if prompt in channel.complaints():
            channel.send(become.password.encode() + b"\n")
            return
        time.sleep(0.02)  # a prompt on standard error has no event to wait for


def _did_not_start(seat: Seat, channel: Channel) -> Exception:
    said = channel.complaints().strip()
    status = channel.status()
    host = seat.target.name
    if seat.become:
        hint = ("check the password" if seat.become.password
                else "set PLAYRUNNER_BECOME_PASSWORD, or use --ask-become-pass, if it needs a password")
        return StepFailed(f"{host}: {seat.become.method} to {seat.become.user} was refused: {_last_lines(said)}; {hint}")
    if status == _NO_PYTHON or "not found" in said or "No such file" in said:
        python = seat.target.python or "python3"
        return StepFailed(f"{host} has no {python}; install it (\"invoke run {host} --module raw --args ...\" works"
                          " without it), or set ansible_python_interpreter")
    return HostUnreachable(f"{host}: the agent did not start (status {status}): {_last_lines(said)}")


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[-3:]) or "it said nothing"


def _command(seat: Seat, marker: str) -> str:
    python = shlex.quote(seat.target.python) if seat.target.python else "python3"
    compiled, source = _agent_code()
    code = ("import sys,zlib,marshal;"
            "sys.version_info<(3,9) and sys.exit(\"needs Python 3.9 or later, not \"+sys.version[:6]);"
            f"b=sys.stdin.buffer.read({len(compiled) + len(source)});"
            f"same=sys.modules[\"_frozen_importlib_external\"].MAGIC_NUMBER.hex()==\"{_MAGIC}\";"
            f"exec(marshal.loads(zlib.decompress(b[:{len(compiled)}])) if same"
            f" else compile(zlib.decompress(b[{len(compiled)}:]),\"agent\",\"exec\"))")
    start = f"echo {_STARTED.decode().strip()}; exec {python} -IS -c {shlex.quote(code)}"
    found = f"command -v {python} >/dev/null 2>&1 || exit {_NO_PYTHON}; {start}"
    inner = f"/bin/sh -c {shlex.quote(found)}"
    become = seat.become
    if not become:
        return inner
    user = shlex.quote(become.user)
    if become.method == "su":
        return f"{become.exe or 'su'} {become.flags} {user} -c {shlex.quote(inner)}"
    ask = f"-S -p {shlex.quote(marker)}" if become.password else "-n"
    return f"{become.exe or 'sudo'} {become.flags or '-H'} {ask} -u {user} {inner}"


_making = threading.Lock()
_MAGIC = importlib.util.MAGIC_NUMBER.hex()  # compiled code runs on hosts whose Python has the same


@cache
def _agent_code() -> tuple[bytes, bytes]:
    """The agent, compiled and as source."""
    name = "playrunner.agent"
    return zlib.compress(catalogue.compiled(name)), zlib.compress(catalogue.source_file(name).read_bytes(), 1)


def _code_frame(path: str, loaded: frozenset[str]) -> bytes:
    """The code a module needs and the agent does not have yet; the same for every host, so made once."""
    with _making:  # hosts ask at the same moment
        return _packed_code(path, loaded)


@cache
def _packed_code(path: str, loaded: frozenset[str]) -> bytes:
    wanted = [(name, text) for name, text in catalogue.sources(path) if name not in loaded]
    compiled = _packed([(name, catalogue.compiled(name) if text else b"") for name, text in wanted], 6)
    sources = _packed(wanted, 1)
    head = {"op": "code", "magic": _MAGIC, "compiled": len(compiled), "body": len(compiled) + len(sources)}
    return json.dumps(head).encode() + b"\n" + compiled + sources


def _packed(value: Any, effort: int) -> bytes:
    return zlib.compress(marshal.dumps(value, MARSHAL_VERSION), effort)
