"""A command on this machine as a `Session`: with pipes, or with a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import selectors
import signal
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_CHUNK = 65536


class ProcessSession:
    """A process of this machine, started for one exec."""

    def __init__(
        self,
        command: list[str],
        *,
        stdin: bool,
        tty: bool,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._terminal: int | None = None
        slave: int | None = None
        if tty:
            self._terminal, slave = pty.openpty()
        piped = subprocess.PIPE if slave is None else slave
        self._process = subprocess.Popen(
            command,
            stdin=(piped if stdin else subprocess.DEVNULL),
            stdout=piped,
            stderr=piped,
            env=dict(environment) if environment is not None else None,
            cwd=folder,
            start_new_session=True,
        )
        if slave is not None:
            os.close(slave)

    def write(self, data: bytes) -> None:
        if self._terminal is not None:
            os.write(self._terminal, data)
        elif self._process.stdin is not None:
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def close_input(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def resize(self, columns: int, rows: int) -> None:
        if self._terminal is not None:
            fcntl.ioctl(
                self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
            )

    def output(self) -> Iterator[tuple[int, bytes]]:
        if self._terminal is not None:
            # A terminal whose process has gone answers with an error instead of an end.
            with suppress(OSError):
                while data := os.read(self._terminal, _CHUNK):
                    yield 1, data
            return
        with selectors.DefaultSelector() as ready:
            for number, pipe in ((1, self._process.stdout), (2, self._process.stderr)):
                assert pipe is not None
                ready.register(pipe, selectors.EVENT_READ, number)
            while ready.get_map():
                for key, _ in ready.select():
                    data = os.read(key.fd, _CHUNK)
                    if data:
                        yield key.data, data
                    else:
                        ready.unregister(key.fileobj)

    def wait(self) -> int:
        code = self._process.wait()
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None
        return 128 - code if code < 0 else code

    def kill(self) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
