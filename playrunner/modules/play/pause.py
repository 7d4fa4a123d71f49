"""play.pause: wait for a time, or for a person."""

from __future__ import annotations

import time
from typing import Any

from playrunner.hostside.module import Probe
from playrunner.run.context import Context


class Pause(Probe):
    """Wait for a time, or for a person to press Enter."""

    once_for_all = True

    seconds: float | None = None  # how long
    minutes: float | None = None  # how long
    prompt: str | None = None  # what to ask; the answer is `user_input`
    echo: bool = True  # whether the answer is shown while it is typed

    def look(self, ctx: Context) -> dict[str, Any]:
        started = time.time()
        answer = ""
        if self.seconds is not None or self.minutes is not None:
            seconds = (self.seconds or 0) + 60 * (self.minutes or 0)
            if self.prompt:
                ctx.show(f"{self.prompt}\n")
            ctx.sleep(seconds)
        else:
            answer = ctx.ask(self.prompt or "Press Enter to go on", self.echo)
        elapsed = time.time() - started
        unit = "minutes" if self.minutes is not None else "seconds"
        shown = round(elapsed / 60, 2) if unit == "minutes" else round(elapsed, 2)
        return {
            "start": _clock(started),
            "stop": _clock(time.time()),
            "delta": int(elapsed),
            "echo": self.echo,
            "user_input": answer,
            "stdout": f"Paused for {shown} {unit}",
            "stderr": "",
            "rc": 0,
        }


def _clock(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
