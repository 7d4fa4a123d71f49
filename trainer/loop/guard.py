"""The guard: sees loss spikes, losses that are no number, gradient explosions, data stalls, dead
loaders, slow ranks and ranks that make no progress, within half a minute.

What the loop computes is looked at in the loop; a thread looks at where the loop is, since a loop
that waits cannot.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import deque
from typing import Any

from trainer.config import Train
from trainer.distributed.process_group import ProcessGroup
from trainer.loop.alerts import Alerts
from trainer.strategies.session import Outcome

READ_SECONDS = 10.0  # how often losses on a GPU are read, and ranks compared
POLL_SECONDS = 1.0
FEWEST = 10  # values before one can be unusual
# Large norms among the recent steps that make an explosion where gradients are clipped: clipping
# takes the size out of a single one, and a tiny model at a high rate has some. They come in a row
# when the weights run away.
CLIPPED_LARGE, CLIPPED_RECENT = 3, 5
MOST_FIGURES = 512  # of ranks in a line of the metrics; status reads the end of the file only
_WARM_STEPS = 2  # the first steps compile and tokenise
_PATIENT_PHASES = ("save", "evaluate", "start")
_PATIENCE = 15  # times stall_seconds, in these


class Guard:
    def __init__(
        self, train: Train, processes: ProcessGroup, metrics: Any, loader: Any, step: int = 0
    ) -> None:
        self.settings, self.processes, self.metrics = train.guard, processes, metrics
        self.loader = loader
        self.scaled = train.precision == "fp16"
        self.alerts = Alerts(processes.rank, metrics.write if metrics else None)
        self.losses: deque[float] = deque(maxlen=train.guard.spike_window)
        self.norms: deque[float] = deque(maxlen=train.guard.spike_window)
        clipped = train.optimizer.grad_clip > 0
        self.fewest_large = CLIPPED_LARGE if clipped else 1
        self.large: deque[bool] = deque(maxlen=CLIPPED_RECENT if clipped else 1)
        self.read_at = self.compared_at = time.monotonic()
        self._own, self._compared_step, self._over = 0.0, step, threading.Event()
        if train.guard.stall_seconds:
            watch = _Watch(self.settings.stall_seconds, processes, loader, self.alerts, self._over)
            watch.start()

    def close(self) -> None:
        self._over.set()

    @property
    def reads(self) -> bool:
        """Whether it is time to wait for the device and look at its losses."""
        return time.monotonic() - self.read_at > READ_SECONDS

    def look(self, step: int, loss: float, norm: float | None) -> None:
        """One step's loss on this rank, as a share of all, and the norm of all gradients."""
        self.read_at = time.monotonic()
        loss *= self.processes.world_size
        if not math.isfinite(loss):
            self.alerts.report("nan", step, f"step {step}: the loss is {loss}")
            return
        if self.processes.first:
            self._look_at_loss(step, loss)
            if norm is not None:
                self._look_at_norm(step, norm)

    def nan_report(self, step: int, position: int, outcome: Outcome) -> str:
        """Which micro-batch of this rank has no number for a loss, and where it came from."""
        bad = [index for index, loss in enumerate(outcome.losses) if not math.isfinite(loss.item())]
        turn = (bad[0] if bad else 0) * self.processes.world_size + self.processes.rank
        return (
            f"step {step}: the loss is {outcome.loss.item()} on rank {self.processes.rank}; its"
            f" micro-batch {turn} begins with {self.loader.where(position, turn)}; the newest"
            " checkpoint is from an earlier step"
        )

    @property
    def compares(self) -> bool:
        """Whether ranks are compared at this step: rank 0 decides, all take part."""
        due = time.monotonic() - self.compared_at > READ_SECONDS
        return self.processes.first and self.processes.world_size > 1 and due

    def compare(self, step: int) -> None:
        """Called by all ranks: who works longest before it meets the others."""
        spent = self.processes.progress.spent
        total = spent.get("data", 0.0) + spent.get("forward", 0.0)
        own, self._own = total - self._own, total
        answers = self.processes.gathered((own, self.alerts.unsent()))
        elapsed, self.compared_at = time.monotonic() - self.compared_at, time.monotonic()
        if not self.processes.first:
            return
        for rank, (_, alerts) in enumerate(answers):
            if rank:
                self.alerts.take(alerts)
        seconds = [seconds for seconds, _ in answers]
        self._record_ranks(step, seconds)
        slowest = max(range(len(seconds)), key=seconds.__getitem__)
        others = statistics.median(seconds[:slowest] + seconds[slowest + 1 :])
        excess = seconds[slowest] - others
        factor = self.settings.slow_factor
        if factor and seconds[slowest] > factor * others and excess > 0.2 * elapsed:
            self.alerts.report(
                "slow-rank",
                step,
                f"step {step}: rank {slowest} is slow: {seconds[slowest]:.1f} s of the last"
                f" {elapsed:.0f} s in data and forward, the others {others:.1f} s",
            )

    def _record_ranks(self, step: int, seconds: list[float]) -> None:
        """Each rank's own seconds per step since the last comparison; of many ranks the slowest of
        each group."""
        steps = max(1, step - self._compared_step)
        self._compared_step = step
        each = -(-len(seconds) // MOST_FIGURES)
        groups = [max(seconds[first : first + each]) for first in range(0, len(seconds), each)]
        figures = [float(f"{group / steps:.3g}") for group in groups]
        ranks = {"each": each, "seconds": figures}
        self.metrics.write({"step": step, "ranks": ranks, "time": time.time()})

    def _look_at_loss(self, step: int, loss: float) -> None:
        factor = self.settings.alert_factor
        if factor and len(self.losses) >= FEWEST:
            usual = sum(self.losses) / len(self.losses)
            if loss > factor * usual > 0:
                text = f"step {step}: loss spike: {loss:.4f}, {loss / usual:.1f} x the recent mean"
                self.alerts.report("loss-spike", step, text)
        self.losses.append(loss)

    def _look_at_norm(self, step: int, norm: float) -> None:
        if not math.isfinite(norm):
            if not self.scaled:  # fp16 finds its loss scale by overflowing
                text = f"step {step}: the gradients' norm is {norm}"
                self.alerts.report("gradient-explosion", step, text)
            return
        factor = self.settings.gradient_factor
        if factor and len(self.norms) >= FEWEST:
            usual = statistics.median(self.norms)
            self.large.append(norm > factor * usual > 0)
            if self.large[-1]:
                self._report_large_norm(step, norm, norm / usual)
        self.norms.append(norm)

    def _report_large_norm(self, step: int, norm: float, times: float) -> None:
        count = sum(self.large)
        if count < self.fewest_large:
            return
        text = f"step {step}: gradient explosion: norm {norm:.4g}, {times:.0f} x the recent median"
        if count > 1:
            text += f", as at {count} of the last {len(self.large)} steps"
        self.alerts.report("gradient-explosion", step, text)


class _Watch(threading.Thread):
    """Looks at where this rank is, each second."""

    def __init__(
        self,
        stall_seconds: float,
        processes: ProcessGroup,
        loader: Any,
        alerts: Alerts,
        over: threading.Event,
    ) -> None:
        super().__init__(name="guard", daemon=True)
        self.stall_seconds, self.processes, self.loader = stall_seconds, processes, loader
        self.alerts, self.over = alerts, over
        self.stalled: tuple[str, float] | None = None  # kind, and since when

    def run(self) -> None:
        while not self.over.wait(POLL_SECONDS):
            self.look()

    def look(self) -> None:
        progress = self.processes.progress
        phase, collective, step, since = progress.now()
        seconds = time.time() - since
        if step < _WARM_STEPS:
            return
        if self.stalled and since > self.stalled[1]:
            kind, begun = self.stalled
            text = f"step {step}: {kind} over after {since - begun:.0f} s"
            self.alerts.resolved(kind, step, text)
            self.stalled = None
        if phase == "data" and not self.loader.is_alive:
            kind, what = "dead-loader", "its loader has ended"
        elif seconds < self.stall_seconds * (_PATIENCE if phase in _PATIENT_PHASES else 1):
            return
        elif phase == "data":
            kind, what = "data-stall", f"it has waited {seconds:.0f} s for its batch"
        elif self.processes.local_rank:
            return  # one rank of each node reports what all of them wait for
        else:
            where = f"{phase}, in {collective}" if collective != "-" else phase
            kind, what = "no-progress", f"nothing happens for {seconds:.0f} s (in {where})"
        text = f"step {step}: {kind}: rank {self.processes.rank}: {what}"
        if self.alerts.report(kind, step, text):
            self.stalled = (kind, since)
