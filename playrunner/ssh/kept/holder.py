"""The holder of connections: `python -m playrunner.ssh.kept.holder SOCKET`.

Commands of the same user ask it to start programs on hosts. It opens connections as a command
itself would, with the same checks of host keys, keeps them for the time the command names, and
ends with the last of them.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import threading
import time
from dataclasses import field
from operator import itemgetter
from typing import Any

from playrunner.errors import HostUnreachable, PlayrunnerError
from playrunner.frozen import mutable
from playrunner.ssh import session
from playrunner.ssh.connection import READ_BYTES, SshChannel
from playrunner.ssh.kept.protocol import (
    FAILED,
    LOST,
    OUTPUT,
    READY,
    STARTED,
    STATUS,
    STDERR,
    is_same_user,
    read_request,
    send_frame,
    target_from,
)
from playrunner.ssh.kept.ready import FirstBytes, Program, ReadySsh
from playrunner.ssh.open_files import make_room
from playrunner.ssh.pool import Pool
from playrunner.ssh.targets import Target

LOOK_SECONDS = 1.0
FIRST_SECONDS = 30.0  # a holder ends when its first request has not come by then
STATUS_SECONDS = 10.0
MOST_CONNECTIONS = 2000
MOST_FIRST = 8  # kept of what programs are sent first


@mutable
class Use:
    """How much a connection is used, and until when it is kept."""

    target: Target
    opened: float
    until: float
    peers: set[socket.socket] = field(default_factory=set)

    @property
    def commands(self) -> int:
        """How many commands run a program over it; one that has ended may not have been seen to."""
        return sum(not _has_hung_up(peer) for peer in self.peers)

    def shown(self) -> dict[str, Any]:
        target = self.target
        return {
            "host": target.name,
            "address": f"{target.user}@{target.address}:{target.port}",
            "via": target.via.name if target.via else "",
            "opened": round(self.opened),
            "in_use": self.commands,
            "seconds_left": round(max(0.0, self.until - time.monotonic())),
        }


class Holder:
    """Open connections, and the programs that commands run over them."""

    def __init__(self) -> None:
        self._pool = Pool(warns=False, ssh=ReadySsh)
        self._lock = threading.Lock()
        self._uses: dict[Target, Use] = {}
        self._first: dict[str, bytes] = {}  # what programs are sent first, by its SHA-256
        self._ends = time.monotonic() + FIRST_SECONDS

    def serve(self, listener: socket.socket) -> None:
        listener.settimeout(LOOK_SECONDS)
        while not self._is_over():
            try:
                peer, _ = listener.accept()
            except TimeoutError:
                continue
            if is_same_user(peer):
                peer.settimeout(None)
                threading.Thread(target=self._answer, args=(peer,), daemon=True).start()
            else:
                peer.close()

    def close(self) -> None:
        self._pool.close()

    def _is_over(self) -> bool:
        now = time.monotonic()
        with self._lock:
            over = [use for use in self._uses.values() if use.until <= now and not use.commands]
            for use in over:
                del self._uses[use.target]
            ended = not self._uses and now > self._ends
        for use in over:
            self._pool.drop(use.target)
        return ended

    def _answer(self, peer: socket.socket) -> None:
        with peer:
            try:
                request = read_request(peer)
                if request["op"] == "start":
                    self._start(peer, request)
                elif request["op"] == "drop":
                    self._pool.drop(target_from(request["target"]))
                    send_frame(peer, STARTED)
                elif request["op"] == "list":
                    send_frame(peer, OUTPUT, json.dumps(self._list()).encode())
                else:
                    send_frame(peer, OUTPUT, json.dumps(self._close_idle()).encode())
                    self._ends = 0.0  # only now: the process ends with its last connection
            except (OSError, EOFError, ValueError, KeyError, TypeError):
                pass  # the command has ended, or is none of ours

    def _start(self, peer: socket.socket, request: dict[str, Any]) -> None:
        target, first = target_from(request["target"]), FirstBytes(**request["first"])
        program = Program(str(request["command"]), first.sha256 if first.size else "")
        if request.get("agent"):  # the user's ssh agent may have another socket by now
            os.environ["SSH_AUTH_SOCK"] = str(request["agent"])
        use = self._use(target, peer, float(request["keep"]))
        try:
            try:
                connection, channel, is_ready = self._started(target, program)
            except PlayrunnerError as error:
                send_frame(peer, FAILED, str(error).encode())
                return
            send_frame(peer, READY if is_ready else STARTED)
            feeding = (peer, channel, None if is_ready else first)
            threading.Thread(target=_feed, args=feeding, daemon=True).start()
            _relay(channel, peer)
        finally:
            with self._lock:
                use.peers.discard(peer)
                is_kept = self._uses.get(target) is use  # else it was closed meanwhile
                if is_kept:
                    use.until = self._ends = time.monotonic() + float(request["keep"])
        if first.size and is_kept:
            self._start_next(connection, program, first)

    def _start_next(self, connection: ReadySsh, program: Program, first: FirstBytes) -> None:
        with self._lock:
            if first.are_whole:
                self._first[first.sha256] = bytes(first.data)
                while len(self._first) > MOST_FIRST:
                    del self._first[next(iter(self._first))]
            data = self._first.get(first.sha256)
        if data:
            connection.start_ahead(program, data)

    def _use(self, target: Target, peer: socket.socket, keep: float) -> Use:
        now = time.monotonic()
        with self._lock:
            use = self._uses.get(target)
            if use is None:
                use = self._uses[target] = Use(target, time.time(), now + keep)
            use.peers.add(peer)
            make_room(len(self._uses), MOST_CONNECTIONS)
            return use

    def _started(self, target: Target, program: Program) -> tuple[ReadySsh, SshChannel, bool]:
        """Start a program, or take one that was started ahead; a connection that broke while idle
        is opened again."""
        connection = self._connection(target)
        if channel := connection.started_ahead(program):
            return connection, channel, True
        try:
            started = connection.start(program.command)
        except HostUnreachable:
            self._pool.drop(target, connection)
            connection = self._connection(target)
            started = connection.start(program.command)
        assert isinstance(started, SshChannel)
        return connection, started, False

    def _connection(self, target: Target) -> ReadySsh:
        connection = self._pool.get(target)
        assert isinstance(connection, ReadySsh)
        return connection

    def _list(self) -> list[dict[str, Any]]:
        with self._lock:
            return sorted((use.shown() for use in self._uses.values()), key=itemgetter("host"))

    def _close_idle(self) -> list[dict[str, Any]]:
        """Close the connections that no command uses at this moment, and list them."""
        with self._lock:
            idle = [use for use in self._uses.values() if not use.commands]
            shown = [use.shown() for use in idle]
            for use in idle:
                del self._uses[use.target]
            self._ends = time.monotonic() + FIRST_SECONDS
        for use in idle:
            self._pool.drop(use.target)
        return sorted(shown, key=itemgetter("host"))


def _has_hung_up(peer: socket.socket) -> bool:
    poll = select.poll()
    poll.register(peer, 0)  # asks for nothing but the end of the other side
    return bool(poll.poll(0))


def _feed(peer: socket.socket, channel: SshChannel, first: FirstBytes | None) -> None:
    """Pass a command's bytes to its program; when the command ends, so does the program."""
    try:
        while data := peer.recv(1 << 16):
            if first:
                first.take(data)
            channel.send(data)
    except (OSError, EOFError, ValueError):
        pass
    channel.close()


def _relay(channel: SshChannel, peer: socket.socket) -> None:
    """Pass a program's output and standard error on, then its exit status."""
    sending = threading.Lock()

    def send(letter: int, data: bytes) -> None:
        with sending:
            send_frame(peer, letter, data)

    def relay_stderr() -> None:
        try:
            while data := channel.session.recv_stderr(READ_BYTES):
                send(STDERR, data)
        except (OSError, EOFError):
            pass  # said by the other thread

    errors = threading.Thread(target=relay_stderr, daemon=True)
    try:
        errors.start()
        while data := channel.receive():
            send(OUTPUT, data)
        if not channel.session.status_event.wait(STATUS_SECONDS):
            send(LOST, b"")
            return
        errors.join(STATUS_SECONDS)
        send(STATUS, str(channel.status(0)).encode())
    except (OSError, EOFError, ValueError):
        pass  # the command has ended
    finally:
        channel.close()


def main() -> int:
    path = sys.argv[1]
    session.prepare()
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0o177)
    try:
        os.unlink(path)  # of a holder that was killed: the caller holds the lock
    except FileNotFoundError:
        pass
    listener.bind(path)
    os.umask(0o077)
    listener.listen(1024)
    os.close(1)  # the command that started it waits for this
    os.open(os.devnull, os.O_WRONLY)
    holder = Holder()
    inode = os.stat(path).st_ino
    try:
        holder.serve(listener)
    finally:
        try:
            if os.stat(path).st_ino == inode:
                os.unlink(path)
        except FileNotFoundError:
            pass
        holder.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
