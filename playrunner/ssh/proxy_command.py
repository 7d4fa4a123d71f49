"""A ProxyCommand as a socket: a program whose input and output are the connection to the host."""

from __future__ import annotations

import socket
import subprocess
import tempfile

_STDERR_TAIL_BYTES = 2000  # of standard error, searched for a message
_END_SECONDS = 2.0


class ProxySocket(socket.socket):
    """One end of a socket pair; the command has the other and ends with the connection.

    A shell runs it, as OpenSSH does; the values of %h, %p and %r were checked before.
    """

    def __init__(self, command: str, seconds: float) -> None:
        ours, theirs = socket.socketpair()
        super().__init__(fileno=ours.detach())
        # A file never fills up and stops its writer, as a pipe would
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._stderr,
            )
        finally:
            theirs.close()
        self.settimeout(seconds)

    def failure(self) -> str:
        """Why the command ended: the last line of its standard error; "" while it runs."""
        if self._process.poll() is None:
            return ""
        self._stderr.seek(0)
        lines = self._stderr.read()[-_STDERR_TAIL_BYTES:].decode(errors="replace").split("\n")
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
