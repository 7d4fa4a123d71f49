"""A ProxyCommand as a socket: a program whose input and output are the connection to the host."""

from __future__ import annotations

import socket
import subprocess
import tempfile

_LAST_WORDS = 2000  # bytes of what it wrote to standard error that a message is made from
_END_SECONDS = 2.0


class ProxySocket(socket.socket):
    """One end of a pair of sockets; the command has the other. It ends with the connection.

    A shell runs it, as OpenSSH does; what stands for %h, %p and %r was checked before it was put
    there.
    """

    def __init__(self, command: str, seconds: float) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(fileno=ours.detach())
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  a file never fills up and stops its writer
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._complaints,
            )
        finally:
            theirs.close()
        self.settimeout(seconds)

    def complaint(self) -> str:
        """The last line the command wrote to standard error, when it ended by itself."""
        if self._process.poll() is None:
            return ""
        self._complaints.seek(0)
        lines = self._complaints.read()[-_LAST_WORDS:].decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the ProxyCommand ended with code {self._process.returncode}" + (
            f": {last}" if last else ""
        )

    def close(self) -> None:
        super().close()
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
