"""A connection with a session open already for the next program, which starts sooner for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from playrunner.ssh.connection import Ssh
from playrunner.ssh.session import broken
from playrunner.ssh.targets import Target

if TYPE_CHECKING:
    import paramiko


class ReadySsh(Ssh):
    """The session has no program: nothing runs on the host, and nothing of one command, such as
    its environment, reaches the next."""

    def __init__(self, target: Target, jump: Callable[[Target], Ssh] | None = None) -> None:
        super().__init__(target, jump)
        self._ready: list[paramiko.Channel] = []
        self._opening = threading.Lock()

    def _session(self) -> paramiko.Channel:
        session = self._open_already() or super()._session()
        threading.Thread(target=self._open_next, daemon=True).start()
        return session

    def _open_already(self) -> paramiko.Channel | None:
        while self._ready:
            try:
                session = self._ready.pop()
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
            if not self._ready:
                self._ready.append(super()._session())
        except paramiko.ChannelException:
            pass  # the host allows no more sessions (MaxSessions)
        except broken():
            self.close()  # ends the wait of the thread that starts a program
        finally:
            self._opening.release()
