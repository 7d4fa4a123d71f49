"""Shell: programs on the machine that builds, this one or a host over SSH, with their output
line by line as it comes."""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playrunner.hostside.module import Failed
from playrunner.ssh.connection import Connection
from playrunner.ssh.frames import read_all
from playrunner.ssh.limits import ANSWER_BYTES

LogLine = Callable[[str], None]
_KEPT_LINES = 12  # of a failed program's output, in the error


class Shell:
    """One machine's programs."""

    def __init__(self, connection: Connection, here: bool) -> None:
        self._connection, self.here = connection, here

    def ask(self, *command: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
        """A program's exit status, and what it prints; what it complains of is left out."""
        channel = self._connection.start(f"{_words(command, environment)} 2>/dev/null </dev/null")
        out, _ = read_all(channel, ANSWER_BYTES)
        status = channel.status()
        channel.close()
        return status, out.decode(errors="replace")

    def run(
        self, *command: str, log: LogLine, environment: Mapping[str, str] | None = None
    ) -> list[str]:
        """A program that has to succeed; its output goes to `log` and is returned."""
        channel = self._connection.start(f"{_words(command, environment)} 2>&1 </dev/null")
        lines, rest = list[str](), b""
        try:
            while data := channel.receive():
                *whole, rest = (rest + data).replace(b"\r", b"\n").split(b"\n")
                for line in whole:
                    lines.append(_logged(line, log))
            lines.append(_logged(rest, log))
            status = channel.status()
        finally:
            channel.close()
        output = [line for line in lines if line]
        if status:
            raise ProgramFailed(command, status, output)
        return output

    def has(self, program: str) -> bool:
        return self.ask("sh", "-c", f"command -v {shlex.quote(program)}")[0] == 0

    def folder(self, content: Path | None = None) -> str:
        """A folder of our own there, readable by its owner only, filled from a folder here."""
        status, output = self.ask("mktemp", "-d")
        if status:
            raise Failed("no folder can be made on the machine that builds; is its disk full?")
        path = output.strip()
        if content is not None:
            self._send(_packed(content), f"tar -xf - -C {shlex.quote(path)}")
        return path

    def write(self, path: str, text: str) -> None:
        """A file that only its owner can read; the text travels through a pipe."""
        self._send(text.encode(), f"umask 077; cat > {shlex.quote(path)}")

    def drop(self, folder: str) -> None:
        self.ask("rm", "-rf", "--", folder)

    def _send(self, data: bytes, command: str) -> None:
        # The number of bytes is given, since the end of the input cannot be seen otherwise.
        channel = self._connection.start(f"head -c {len(data)} | ({command})")
        try:
            channel.send(data)
            while channel.receive():
                pass
            status, stderr_text = channel.status(), channel.stderr_text()
        except OSError as error:
            status, stderr_text = 1, str(error)
        finally:
            channel.close()
        if status:
            raise Failed(
                f"files could not be sent to the machine that builds: {stderr_text.strip()[:200]}"
            )


class ProgramFailed(Failed):
    """A program ended badly; the message ends with its own last words."""

    def __init__(self, command: Sequence[str], status: int, lines: Sequence[str]) -> None:
        self.lines = lines
        super().__init__(
            f"{' '.join(command[:2])} ended with {status}: " + "\n".join(lines[-_KEPT_LINES:]),
            rc=status,
        )


def _words(command: Sequence[str], environment: Mapping[str, str] | None) -> str:
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    return shlex.join(["env", *settings, *command] if settings else command)


def _logged(line: bytes, log: LogLine) -> str:
    text = line.decode(errors="replace").rstrip()
    if text:
        log(text)
    return text


def _packed(folder: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False)
    return out.getvalue()
