"""A program on a terminal of its own, whose questions are answered."""

from __future__ import annotations

import os

from playrunner.hostside.module import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext

_READ_BYTES = 65536


class Conversation:
    """A program on a pseudo-terminal, what it wrote, and how far its questions are answered."""

    def __init__(
        self, questions: list[tuple[Any, str, list[str], bool]], timeout: Optional[float]
    ) -> None:
        self.questions, self.timeout = questions, timeout
        self.output = bytearray()
        self.answered = 0  # output before this is dealt with
        self.problem = ""

    def run(
        self, ctx: HostContext, words: list[str], folder: Optional[str], echo: bool
    ) -> Optional[int]:
        """The exit status, or None when it took too long or asked for an answer too many."""
        import pty
        import subprocess

        ours, theirs = pty.openpty()
        if not echo:
            _without_echo(theirs)
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=_own_terminal,
            )
        except OSError as error:
            os.close(ours)
            raise Failed(
                f"The command was not found or was not executable: {words[0]}", rc=error.errno
            ) from None
        finally:
            os.close(theirs)
        ctx.wire.children.add(process.pid)
        try:
            if self._talk(ours):
                return _status(process.wait())
            return None
        finally:
            os.close(ours)
            if process.poll() is None:
                process.kill()
                process.wait()
            ctx.wire.children.discard(process.pid)

    def _talk(self, terminal: int) -> bool:
        import selectors

        with selectors.DefaultSelector() as selector:
            selector.register(terminal, selectors.EVENT_READ)
            while True:
                if not selector.select(self.timeout):
                    return False
                try:
                    data = os.read(terminal, _READ_BYTES)
                except OSError:  # how Linux tells that the other end is closed
                    return True
                if not data:
                    return True
                self.output += data
                while self._answer(terminal):
                    if self.problem:
                        return False

    def _answer(self, terminal: int) -> bool:
        """Answer the first question in what was not dealt with yet."""
        text = bytes(self.output[self.answered :]).decode("latin-1")
        matches = [
            (match.start(), match.end(), pattern, answers, one_by_one)
            for regex, pattern, answers, one_by_one in self.questions
            if (match := regex.search(text))
        ]
        if not matches:
            return False
        _, end, pattern, answers, one_by_one = min(matches, key=lambda found: found[0])
        if not answers:
            self.problem = f"No remaining responses for '{pattern}', output was '{text[:end]}'"
            return True
        answer = answers.pop(0) if one_by_one else answers[0]
        self.answered += max(end, 1)
        os.write(terminal, answer.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n")
        return True


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _without_echo(terminal: int) -> None:
    import termios

    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def _status(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode
