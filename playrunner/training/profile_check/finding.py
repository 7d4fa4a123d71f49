"""One line of the judgement of a profile."""

from __future__ import annotations

from typing import Literal

from playrunner.frozen import frozen

OK: Literal["ok"] = "ok"
PROBLEM: Literal["problem"] = "problem"
UNKNOWN: Literal["unknown"] = "unknown"


@frozen
class Finding:
    topic: str  # sizes, batch, schedule, data, precision, machines, memory
    verdict: Literal["ok", "problem", "unknown"]
    text: str
    remedy: str = ""  # the setting that mends it, or the command that finds it out

    def line(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.verdict:<8} {self.topic:<10} {self.text}{remedy}"
