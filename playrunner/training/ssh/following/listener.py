"""What a followed run reports, and the listener that records it."""

from __future__ import annotations

import time
from typing import Any, Protocol

from playrunner.project import program
from playrunner.training.netcheck.errors import GateClosed
from playrunner.training.runs.notices import Notices
from playrunner.training.runs.record import Record, parse_metrics
from playrunner.training.runs.stall import stalled_for
from playrunner.training.screen.screen import LiveLine
from trainer.netcheck.findings import Expected

_PACE = 20  # steps that tell how fast a run usually is


class RunListener(Protocol):
    """What happens in a run, as it is followed."""

    def log(self, host: str, text: str) -> None: ...
    def metrics(
        self, text: str, again: bool
    ) -> None: ...  # again: the file was rewritten, from the start
    def gate(self, result: dict[str, Any]) -> bool: ...  # whether the run may begin
    def say(self, text: str) -> None: ...
    def idle(self) -> None: ...  # nothing has happened for a moment


class RecordingListener:
    """Everything is kept in the run's record, and the newest metrics are on the terminal."""

    def __init__(self, record: Record, line: LiveLine, expected: Expected) -> None:
        self.record, self.line, self.expected, self.trains = record, line, expected, False
        self.notices = Notices(str(record.job().get("run_id", "")))
        self._newest: list[dict[str, float]] = []  # when steps were heard of, by this clock
        self._told = False  # of the present stall

    def gate(self, result: dict[str, Any]) -> bool:
        # The ranks are importing torch when a launch begins to follow them: what is only needed
        # later is imported later.
        from playrunner.training.netcheck.gate_files import keep_gate
        from trainer.netcheck.verdict import judge

        verdict = judge(result, self.expected)
        keep_gate(self.record.folder, result, verdict)
        if not verdict.ok:
            raise GateClosed(verdict, list(result.get("nodes", ())))
        for text in verdict.lines:
            self.line.say(f"network: {text}")
        return True

    def log(self, host: str, text: str) -> None:
        self.record.write_log(host, text)
        for notice in self.notices.of(host, text):
            self.line.say(notice)

    def metrics(self, text: str, again: bool) -> None:
        self.record.write_metrics(text, again)
        for metrics in parse_metrics(text)[
            -1:
        ]:  # what comes in one piece is old: a resumed run's past, or a slow connection's
            self.trains = True
            self._newest = [*self._newest[-_PACE:], {"time": time.time()}]
            self._told = False
            self.line.metrics(metrics)

    def say(self, text: str) -> None:
        self.line.say(text)

    def idle(self) -> None:
        if not self.trains:
            self.line.waiting("waiting for the first step")
        elif not self._told and (silence := stalled_for(self._newest, time.time())):
            self._told = True
            name = self.record.name
            text = (
                f"no step for {silence:.0f} s; to see which rank the others wait for:"
                f" {program()} train.why --name {name}"
            )
            self.line.say(text)
            self.line.notify("stalled", text)
