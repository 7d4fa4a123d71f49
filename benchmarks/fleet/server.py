"""Serves every host of a fleet from one process: `python server.py SETTINGS.json`.

Each host is an address with a port, a host key all share, and a folder. A login with the fleet's
key may run commands: a Python agent is forked (fork_server.py), anything else is given to
`/bin/sh`, files go through OpenSSH's sftp-server, and connections to other ports are forwarded, so
that any host can be a jump host.
It runs in a virtual environment of its own, with asyncssh, which the product does not need.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import asyncssh

from benchmarks.fleet.forks import Forks
from benchmarks.fleet.link import LinkedProtocol, LinkSettings

READ_BYTES = 1 << 16
SFTP_SERVER = Path("/usr/lib/openssh/sftp-server")  # where Debian has it
# A thread for each program; those that serve files run as long as their connections
WAITING = ThreadPoolExecutor(4096, "wait")
BEFORE = re.compile(r"echo (\S+); exec \S+ -IS -c ")


class Session(asyncssh.SSHServerSession):
    """One command on one host: its streams are a socket and a pipe."""

    def __init__(self, host: dict[str, Any], forks: Forks) -> None:
        self._host, self._forks = host, forks
        self._loop = asyncio.get_running_loop()
        self._ours: socket.socket | None = None
        self._unsent = bytearray()
        self._open = 2
        self._status: int | None = None

    def connection_made(self, chan: Any) -> None:
        self._chan = chan

    def exec_requested(self, command: str) -> bool:
        self._command = command
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        """Files, as sshd serves them: by OpenSSH's own program."""
        self._command = f"exec {SFTP_SERVER}"
        return subsystem == "sftp" and SFTP_SERVER.exists()

    def session_started(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._errors, their_errors = os.pipe()
        os.set_blocking(self._errors, False)
        fds = [theirs.fileno(), theirs.fileno(), their_errors]
        home = self._host["scratch"]
        agent = _agent_of(self._command)
        if agent:
            self._forks.start(*agent, home, fds, self._ended)
        else:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self._command],
                stdin=fds[0],
                stdout=fds[1],
                stderr=fds[2],
                cwd=home,
                start_new_session=True,
            )
            self._loop.run_in_executor(WAITING, process.wait).add_done_callback(
                lambda done: self._ended(done.result())
            )
        theirs.close()
        os.close(their_errors)
        self._loop.add_reader(self._ours, self._read)
        self._loop.add_reader(self._errors, self._read_errors)

    def data_received(self, data: bytes, datatype: Any) -> None:
        if self._ours is None:
            return
        if not self._unsent:
            try:
                data = data[self._ours.send(data) :]
            except BlockingIOError:
                pass
            except OSError:
                return
        if data:
            if not self._unsent:
                self._loop.add_writer(self._ours, self._send)
                self._chan.pause_reading()
            self._unsent += data

    def eof_received(self) -> bool:
        if self._ours and not self._unsent:
            self._shutdown()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if self._ours is None:
            return
        self._loop.remove_writer(self._ours)
        if self._open:
            self._loop.remove_reader(self._ours)
            self._loop.remove_reader(self._errors)
        self._ours.close()
        os.close(self._errors)
        self._ours = None

    def _send(self) -> None:
        assert self._ours
        try:
            del self._unsent[: self._ours.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()
        if not self._unsent:
            self._loop.remove_writer(self._ours)
            self._chan.resume_reading()

    def _shutdown(self) -> None:
        assert self._ours
        try:
            self._ours.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has ended already

    def _read(self) -> None:
        assert self._ours
        try:
            data = self._ours.recv(READ_BYTES)
        except OSError:
            data = b""
        if data:
            self._chan.write(data)
        else:
            self._loop.remove_reader(self._ours)
            self._stream_ended()

    def _read_errors(self) -> None:
        data = os.read(self._errors, READ_BYTES)
        if data:
            self._chan.write_stderr(data)
        else:
            self._loop.remove_reader(self._errors)
            self._stream_ended()

    def _stream_ended(self) -> None:
        self._open -= 1
        self._finish()

    def _ended(self, status: int) -> None:
        self._status = status
        self._finish()

    def _finish(self) -> None:
        if self._ours is not None and not self._open and self._status is not None:
            self._chan.exit(self._status if self._status >= 0 else 128 - self._status)


def _agent_of(command: str) -> tuple[str, str] | None:
    """The code of an agent and what its shell prints before it, if the command starts one."""
    words = shlex.split(command)
    if words[:2] == ["/bin/sh", "-c"] and len(words) == 3:
        command = words[2]
        words = shlex.split(command)
    if words[-3:-1] != ["-IS", "-c"] or words[-5] != "exec":
        return None
    before = BEFORE.search(command)
    return words[-1], f"{before[1]}\n" if before else ""


class Host(asyncssh.SSHServer):
    """One host: who may log in, and what happens then."""

    def __init__(self, fleet: Fleet, host: dict[str, Any]) -> None:
        self._fleet, self._host = fleet, host
        self._greeting = True
        fleet.opening[host["name"]] += 1

    def connection_lost(self, error: Exception | None) -> None:
        self._greeted()

    def begin_auth(self, username: str) -> bool:
        return True

    def auth_completed(self) -> None:
        self._greeted()
        self._fleet.logins[self._host["name"]] += 1

    def session_requested(self) -> Session:
        return Session(self._host, self._fleet.forks)

    def connection_requested(self, host: str, port: int, *_: Any) -> bool:
        return True

    def _greeted(self) -> None:
        if self._greeting:
            self._greeting = False
            self._fleet.opening[self._host["name"]] -= 1


class Fleet:
    """All hosts, and how many connections of each are being opened."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.rng = random.Random(settings.get("seed", 1))
        self.forks = Forks(settings["python"])
        self.opening = {host["name"]: 0 for host in settings["hosts"]}
        self.logins = {host["name"]: 0 for host in settings["hosts"]}
        self.refused = 0

    async def listen(self) -> None:
        key = asyncssh.read_private_key(self.settings["host_key"])
        self._options = asyncssh.SSHServerConnectionOptions(
            server_host_keys=[key],
            authorized_client_keys=self.settings["authorized_keys"],
            password_auth=False,
            kbdint_auth=False,
            encoding=None,
            line_editor=False,
            login_timeout=120,
            keepalive_interval=0,
        )
        loop = asyncio.get_running_loop()
        for host in self.settings["hosts"]:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host["address"], host["port"]))
            await loop.create_server(lambda host=host: self._accept(host), sock=sock, backlog=1024)

    def _accept(self, host: dict[str, Any]) -> asyncio.Protocol:
        limit = host.get("max_startups", 0)
        refused = limit and self.opening[host["name"]] >= limit
        if refused or self.rng.random() < self.settings.get("refuse", 0.0):
            self.refused += 1
            return _Refused()
        options = asyncssh.SSHServerConnectionOptions(
            self._options, server_factory=lambda: Host(self, host)
        )
        inner = asyncssh.connection.SSHServerConnection(
            asyncio.get_running_loop(), options, None, None
        )
        link = LinkSettings(**{**self.settings["link"], **host.get("link", {})})
        return LinkedProtocol(inner, link, self.rng)


class _Refused(asyncio.Protocol):
    """What sshd does with a connection beyond MaxStartups: it closes it without a word."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def serve(settings: dict[str, Any]) -> None:
    fleet = Fleet(settings)
    await fleet.listen()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print("ready", flush=True)
    talking = asyncio.create_task(_obey(fleet, reader, stop))
    await stop.wait()
    talking.cancel()


async def _obey(fleet: Fleet, reader: asyncio.StreamReader, stop: asyncio.Event) -> None:
    """Lines on standard input: settings that hold from now on, or a question about counts; at
    its end the fleet ends."""
    while line := await reader.readline():
        fleet.settings.update(json.loads(line))
        counts = {"refused": fleet.refused, "logins": sum(fleet.logins.values())}
        print(json.dumps(counts), flush=True)
    stop.set()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text())))
