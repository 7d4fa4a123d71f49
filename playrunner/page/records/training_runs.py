"""Training runs as this machine recorded them, together with what the nodes say now."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.page.records.curves import spark
from playrunner.page.records.metrics_file import MetricsFile
from playrunner.page.records.rank_log import last_state
from playrunner.text.documents import parse_json
from playrunner.training.runs.record import Record, recorded
from playrunner.training.runs.run import Run
from playrunner.training.runs.states import ENDED

KEPT_POINTS = 300_000  # of all runs together, in memory
FRESH_SECONDS = 20.0  # a record that was written to so lately belongs to a run that goes on


@frozen
class Figures:
    """What a list shows of a run's metrics."""

    size: int  # of the file they were read from
    last: dict[str, Any]
    spark: str


@frozen
class TrainingRun:
    """One run."""

    name: str
    job: dict[str, Any]
    folder: Path
    figures: Figures
    read: Callable[[], MetricsFile] = field(repr=False)
    state: str
    ended: float | None
    reason: str = ""
    checkpoints: dict[str, int | None] = field(default_factory=dict)
    alerts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def metrics(self) -> MetricsFile:
        """All its figures; read when they are asked for."""
        return self.read()

    @property
    def created(self) -> float:
        return _number(self.job.get("created"))

    @property
    def step(self) -> int:
        return int(self.last.get("step", 0))

    @property
    def steps(self) -> int:
        return int(_number(self.last.get("last_step")) or _number(self.job.get("steps")))

    @property
    def hosts(self) -> list[str]:
        return _hosts(self.job)

    @property
    def goes_on(self) -> bool:
        return self.state in ("running", "stopping", "pending")

    @property
    def age(self) -> float:
        last = self.ended or (time.time() if self.goes_on else _number(self.last.get("time")))
        return max(0.0, last - self.created) if last else 0.0

    @property
    def last(self) -> dict[str, Any]:
        return self.figures.last

    @property
    def hourly(self) -> float:
        return _number(self.job.get("hourly"))

    @property
    def cost(self) -> float | None:
        return self.hourly * self.age / 3600 if self.hourly else None

    @property
    def seconds_left(self) -> float | None:
        """By the speed of the last logged steps."""
        step_seconds = self.last.get("step_seconds")
        if not self.goes_on or not step_seconds or self.step >= self.steps:
            return None
        return float(step_seconds) * (self.steps - self.step)


class TrainingRuns:
    """Every run this machine has launched, newest first; metrics are read on, not again, and those
    of runs that were not looked at lately are let go."""

    def __init__(self) -> None:
        self._metrics: OrderedDict[Path, MetricsFile] = OrderedDict()
        self._figures: dict[Path, Figures] = {}
        self._lock = threading.Lock()

    def all(self, live: dict[str, Run]) -> list[TrainingRun]:
        runs = [self._run(record, live.get(record.name)) for record in recorded()]
        return sorted(runs, key=lambda run: -run.created)

    def find(self, name: str, live: dict[str, Run] | None = None) -> TrainingRun:
        record = Record(name)
        if not name or not (record.folder / "run.json").exists():
            raise BadInput(f'there is no training run "{name}" in the records of this machine')
        return self._run(record, (live or {}).get(name))

    def _metrics_of(self, path: Path) -> MetricsFile:
        with self._lock:
            metrics = self._metrics.setdefault(path, MetricsFile(path))
            self._metrics.move_to_end(path)
        metrics.update()
        with self._lock:
            while len(self._metrics) > 1 and sum(map(len, self._metrics.values())) > KEPT_POINTS:
                self._metrics.popitem(last=False)
        return metrics

    def _figures_of(self, path: Path) -> Figures:
        size = _stat(path, "st_size")
        known = self._figures.get(path)
        if known is None or known.size != size:
            metrics = self._metrics_of(path)
            known = self._figures[path] = Figures(int(size), dict(metrics.last), spark(metrics))
        return known

    def _run(self, record: Record, seen: Run | None) -> TrainingRun:
        path = record.folder / "metrics.jsonl"
        job, ending = record.job(), record.ending()
        state = str(ending.get("state") or "")
        # What was seen before the run ended says nothing, unless it was launched again elsewhere
        if seen and (not state or _number(seen.job.get("created")) > _number(ending.get("time"))):
            state = seen.state
        cause = ending.get("cause")
        reason = (
            f"{cause.get('node', '')}: {cause.get('what', '')}"
            if isinstance(cause, dict)
            else str(ending.get("reason") or (seen.reason if seen else ""))
        )
        sizes: dict[str, int | None] = dict.fromkeys(seen.checkpoints if seen else ())
        sizes.update(seen.checkpoint_bytes if seen else {})
        return TrainingRun(
            record.name,
            job,
            record.folder,
            self._figures_of(path),
            lambda: self._metrics_of(path),
            state or _state(record, job),
            _number(ending.get("time")) or None,
            reason,
            sizes,
            list(seen.guard) if seen else [],
        )


def read_environment(folder: Path) -> list[dict[str, Any]]:
    """The variables of a run's processes with their reasons, as they were at its launch."""
    try:
        found = parse_json((folder / "environment.json").read_text(), "environment.json")
    except (OSError, BadInput):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _state(record: Record, job: dict[str, Any]) -> str:
    """Where nothing tells how it ended, its files may."""
    ended = last_state(record.folder, _hosts(job))
    if ended in ENDED:
        return ended
    newest = max(_stat(record.folder / name, "st_mtime") for name in ("metrics.jsonl", "run.json"))
    return "running" if time.time() - newest < FRESH_SECONDS else "unknown"


def _hosts(job: dict[str, Any]) -> list[str]:
    nodes = job.get("nodes") or ()
    return [str(node.get("host", "")) for node in nodes if isinstance(node, dict)]


def _stat(path: Path, name: str) -> float:
    try:
        return float(getattr(path.stat(), name))
    except OSError:
        return 0.0


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
