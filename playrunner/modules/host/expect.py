"""host.expect: a program whose questions are answered."""

from __future__ import annotations

import time

from playrunner.hostside.module import Failed
from playrunner.modules.host._command import Guarded, clock, duration, split_words
from playrunner.modules.host._conversation import Conversation
from playrunner.modules.host._text import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext


class Expect(Guarded):
    """A program run in a terminal of its own, whose questions are answered as they come."""

    command: str  # the program and its arguments, without a shell
    # Regular expression of a question -> the answer, or a list of answers, one for each time
    responses: dict[str, Any]
    timeout: Any = 30  # seconds to wait for a question or the end; null waits on
    echo: bool = False  # show the answers in the output

    def guard(self, ctx: HostContext) -> dict[str, Any] | None:
        reason = self.reason_not_to()
        if reason is None:
            return None
        return {"cmd": self.command, "stdout": f"skipped, since {reason}", "rc": 0}

    def act(self, ctx: HostContext) -> dict[str, Any]:
        words = split_words(self.command)
        started, began = time.monotonic(), time.time()
        talk = Conversation(self._questions(), self._seconds())
        rc = talk.run(ctx, words, self.folder(), self.echo)
        seconds = time.monotonic() - started
        text = talk.output.decode("utf-8", "replace").rstrip("\r\n")
        result = {
            "cmd": self.command,
            "stdout": text,
            "stdout_lines": text.splitlines(),
            "rc": rc,
            "start": clock(began),
            "end": clock(began + seconds),
            "delta": duration(seconds),
        }
        if rc is None:
            raise Failed(talk.problem or "command exceeded timeout", changed=True, **result)
        if rc:
            raise Failed("non-zero return code", changed=True, **result)
        return result

    def _seconds(self) -> Optional[float]:
        if self.timeout is None:
            return None
        try:
            return float(int(self.timeout))
        except (TypeError, ValueError):
            raise Failed(
                f"argument 'timeout' must be a number of seconds, not {self.timeout!r}"
            ) from None

    def _questions(self) -> list[tuple[Any, str, list[str], bool]]:
        """Pattern, its text, the answers, and whether they are used up one by one."""
        return [
            (
                compiled(str(pattern), "responses"),
                str(pattern),
                [str(item) for item in answer] if isinstance(answer, list) else [str(answer)],
                isinstance(answer, list),
            )
            for pattern, answer in self.responses.items()
        ]
