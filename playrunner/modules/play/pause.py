"""play.pause: wait for a time, or for a person."""

from __future__ import annotations

import time
from typing import Any

from playrunner.hostside.module import Probe
from playrunner.run.context import Context

PROMPT = "Press enter to continue, Ctrl+C to interrupt"
HOW = "(ctrl+C then 'C' = continue early, ctrl+C then 'A' = abort)"
NOT_ASKED = "Not waiting for response to prompt as stdin is not interactive"


class Pause(Probe):
    """Wait for a time, or for a person to press Enter."""

    once_for_all = True

    seconds: float | None = None  # how long
    minutes: float | None = None  # how long
    prompt: str | None = None  # what to ask; the answer is `user_input`
    echo: bool = True  # whether the answer is shown while it is typed

    def look(self, ctx: Context) -> dict[str, Any]:
        started = time.time()
        timed = self.seconds is not None or self.minutes is not None
        seconds = (self.seconds or 0) + 60 * (self.minutes or 0) if timed else None
        answer = ctx.pause(self._text(ctx.subject, seconds), self.echo, seconds)
        if answer is None and seconds is not None:
            ctx.sleep(seconds)
        elif answer is None:
            ctx.warnings.append(NOT_ASKED)
        elapsed = time.time() - started
        unit = "minutes" if self.minutes is not None else "seconds"
        shown = round(elapsed / 60, 2) if unit == "minutes" else round(elapsed, 2)
        return {
            "start": _clock(started),
            "stop": _clock(time.time()),
            "delta": int(elapsed),
            "echo": self.echo,
            "user_input": answer or "",
            "stdout": f"Paused for {shown} {unit}",
            "stderr": "",
            "rc": 0,
        }

    def _text(self, title: str, seconds: float | None) -> str:
        hidden = "" if self.echo else " (output is hidden)"
        asked = f"[{title}]\n{self.prompt or PROMPT}{hidden}:"
        if seconds is None:
            return asked
        return f"Pausing for {seconds:g} seconds{hidden}\n" + (
            f"{HOW}\n{asked}" if self.prompt else HOW
        )


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
