"""A connection that is made ready for the next program between two commands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING

from playrunner.errors import HostUnreachable
from playrunner.frozen import frozen, mutable
from playrunner.ssh.connection import Channel, Ssh, SshChannel
from playrunner.ssh.session import broken
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    import paramiko

# A connection that brought nothing for so long is tried before a program that was started ahead is
# used: what is sent to one is not repeated once it may have arrived
TRUSTED_SECONDS = 60.0
MOST_FIRST_BYTES = 1 << 20  # of what a program is sent first; an agent is sent 50 KB


@frozen
class Program:
    """A command, and the SHA-256 of what it is sent first, if that is known."""

    command: str
    first: str


@mutable
class FirstBytes:
    """What a program is sent first, as a command names it."""

    size: int
    sha256: str
    data: bytearray = field(default_factory=bytearray)

    def take(self, data: bytes) -> None:
        """Some of what a command sends."""
        if self.size <= MOST_FIRST_BYTES:
            self.data += data[: self.size - len(self.data)]

    @property
    def are_whole(self) -> bool:
        """Not where a command sent something else, such as a password."""
        return len(self.data) == self.size and sha256(self.data).hexdigest() == self.sha256


class ReadySsh(Ssh):
    """A session is open that has no program yet; and a program that a command has used is started
    anew when it ends, for the next: nothing of one command, such as its environment, reaches
    another."""

    def __init__(self, target: Target, jump: Callable[[Target], Ssh] | None = None) -> None:
        super().__init__(target, jump)
        self._sessions: list[paramiko.Channel] = []
        self._programs: list[tuple[Program, SshChannel]] = []
        self._opening = threading.Lock()
        self._is_full = False  # the host allows no further session (MaxSessions)
        self._heard = time.monotonic()

    def start(self, command: str, first: bytes = b"") -> Channel:
        channel = super().start(command)
        self._heard = time.monotonic()
        return channel

    def start_ahead(self, program: Program, first: bytes) -> None:
        """Start a program for the next command that wants the same; instead of an older one."""
        if self._is_full:
            return
        self._take()
        try:
            channel = self.start(program.command)
            assert isinstance(channel, SshChannel)
            channel.send(first)
            self._programs.append((program, channel))
        except broken(HostUnreachable, ValueError):
            pass  # the next command starts it, and says why it cannot

    def started_ahead(self, program: Program) -> SshChannel | None:
        """The program, if it waits on the host."""
        if not program.first:
            return None
        if time.monotonic() - self._heard > TRUSTED_SECONDS and not self._answers():
            return None
        return self._take(program)

    def _take(self, wanted: Program | None = None) -> SshChannel | None:
        """What was started ahead, if it is what is wanted; anything else is ended."""
        try:
            program, channel = self._programs.pop()
        except IndexError:
            return None  # none, or another thread took it
        if program == wanted and not (channel.session.closed or channel.session.eof_received):
            return channel
        channel.close()
        return None

    def _answers(self) -> bool:
        import paramiko

        try:
            super()._session().close()
        except paramiko.ChannelException:
            pass  # an answer, too
        except broken():
            self.close()
            return False
        self._heard = time.monotonic()
        return True

    def _session(self) -> paramiko.Channel:
        session = self._open_already() or super()._session()
        threading.Thread(target=self._open_next, daemon=True).start()
        return session

    def _open_already(self) -> paramiko.Channel | None:
        while self._sessions:
            try:
                session = self._sessions.pop()
            except IndexError:
                return None  # another thread took it
            if not session.closed:
                return session
        return None

    def _open_next(self) -> None:
        """Also shows whether a connection that was idle still works: its time limit is shorter than
        that of starting a program."""
        import paramiko

        if not self._opening.acquire(blocking=False):
            return  # another thread opens it
        try:
            if not self._sessions:
                self._sessions.append(super()._session())
        except paramiko.ChannelException:
            self._is_full = True
        except broken():
            self.close()  # ends the wait of the thread that starts a program
        finally:
            self._opening.release()
