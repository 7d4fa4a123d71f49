"""The steps of a run: when each was sent, how long it took, what came of it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playrunner.frozen import frozen
from playrunner.page.records.host_log import blocks
from playrunner.record.past_runs import Unreadable, events

BAD = ("failed", "unreachable")
ORDER = ("failed", "unreachable", "unknown", "changed", "ok", "skipped", "running")


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step on one host."""

    number: int  # from 1, in the order in which results came
    host: str
    step: str
    module: str
    place: str
    status: str  # running: no result is recorded
    seconds: float  # what the step itself took
    sent: float
    ended: float
    message: str = ""
    ahead: bool = False  # sent before the host's step before it had ended

    @property
    def waited(self) -> float:
        """How long it was queued behind other steps, or its answer was on the way."""
        return max(0.0, self.ended - self.sent - self.seconds)


@frozen
class Steps:
    """All of a run's results."""

    results: tuple[StepResult, ...]
    begun: float
    ended: float
    unreadable: str = ""

    @property
    def failures(self) -> list[StepResult]:
        return [result for result in self.results if result.status in BAD]

    def by_host(self) -> dict[str, list[StepResult]]:
        hosts: dict[str, list[StepResult]] = {}
        for result in self.results:
            hosts.setdefault(result.host, []).append(result)
        return hosts


def read_steps(folder: Path) -> Steps:
    unreadable = Unreadable()
    results, begun, ended = _paired(events(folder, unreadable))
    return Steps(tuple(results), begun, ended, unreadable.warning())


def output_of(folder: Path, results: Sequence[StepResult], number: int) -> tuple[str, str]:
    """Output and diff of a step: the host's log has a block for each result, in their order."""
    wanted = next(result for result in results if result.number == number)
    return outputs_of(folder, wanted.host, results).get(number, ("", ""))


def outputs_of(
    folder: Path, host: str, results: Iterable[StepResult]
) -> dict[int, tuple[str, str]]:
    """Output and diff of every step of a host, by the step's number."""
    own = [result for result in results if result.host == host and result.status != "running"]
    outputs = {}
    log = blocks(folder, host)
    for result in own:
        for block in log:
            if block.title == f"{result.status}: {result.step}".split("\n", 1)[0]:
                outputs[result.number] = (block.output, block.diff)
                break
    return outputs


def chosen(
    results: Iterable[StepResult], text: str, status: str, host: str = ""
) -> list[StepResult]:
    words = text.lower().split()
    return [
        result
        for result in results
        if (not status or result.status == status)
        and (not host or result.host == host)
        and all(
            word in f"{result.host} {result.step} {result.module} {result.place}".lower()
            for word in words
        )
    ]


def _paired(record: Iterator[dict[str, Any]]) -> tuple[list[StepResult], float, float]:
    """Results with the moment at which each was sent."""
    results: list[StepResult] = []
    sent: dict[tuple[str, str, str], deque[float]] = defaultdict(deque)
    free: dict[str, float] = {}  # when the host's last result came
    begun = ended = 0.0
    for event in record:
        at = float(event["at"])
        begun, ended = begun or at, max(ended, at)
        key = (event.get("host", ""), event.get("step", ""), event.get("place", ""))
        if event["event"] == "intent":
            sent[key].append(at)
        elif event["event"] == "outcome":
            seconds = max(0.0, float(event.get("seconds", 0)))
            start = sent[key].popleft() if sent[key] else at - seconds
            before = free.get(key[0])
            ahead = before is not None and start < before
            free[key[0]] = at
            results.append(_result(len(results) + 1, event, start, at, seconds, ahead))
    for (host, step, place), starts in sent.items():
        for start in starts:
            event = {"host": host, "step": step, "place": place, "status": "running"}
            number = len(results) + 1
            results.append(_result(number, event, start, ended, max(0.0, ended - start), False))
    return results, begun, ended


def _result(
    number: int, event: dict[str, Any], start: float, end: float, seconds: float, ahead: bool
) -> StepResult:
    return StepResult(
        number,
        event.get("host", ""),
        event.get("step", ""),
        event.get("module", ""),
        event.get("place", ""),
        event.get("status", ""),
        seconds,
        start,
        end,
        event.get("msg", ""),
        ahead,
    )
