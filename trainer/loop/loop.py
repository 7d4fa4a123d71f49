"""The training loop: take a batch, take a step, log it, save when due."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from trainer.checkpoint.checkpoint import Checkpoints, read_state
from trainer.config import Profile
from trainer.data import open_samples
from trainer.data.loader import Batch, Ready
from trainer.data.opening import open_loader
from trainer.data.tokenizer_file import tokenizer_file, with_tokenizer
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import AskedToEnd, TrainerError, Unhealthy
from trainer.fast import with_saved_padding
from trainer.loop.evaluate import evaluate, evaluation_seconds
from trainer.loop.garbage import collect_again
from trainer.loop.guard import Guard
from trainer.loop.log_styles import evaluated, resuming, saving
from trainer.loop.metrics import Metrics
from trainer.loop.stop_request import StopRequest
from trainer.loop.time_budget import TimeBudget
from trainer.optim.schedule import due, last_step, learning_rate, phase
from trainer.strategies import strategy_of
from trainer.strategies.session import Outcome


def run(profile: Profile, output: Path, processes: ProcessGroup) -> None:
    """Train from the newest checkpoint, or from nothing, to the profile's end."""
    collect_again()  # before data is prepared, which may take hours
    training = Training(profile, output, processes)
    try:
        training.train_to_end()
    finally:
        training.close(failed=sys.exc_info()[0] is not None)


class Training:
    def __init__(self, profile: Profile, output: Path, processes: ProcessGroup) -> None:
        self.profile, self.train, self.processes = profile, profile.train, processes
        self.output, self.stopping = output, StopRequest()
        self.samples, self.validation = processes.together(
            lambda: open_samples(self.train, output, processes.world_size)
        )
        self.checkpoints = Checkpoints(output / "checkpoints", self.train.checkpoint, processes)
        checkpoint = self.checkpoints.find()
        state = read_state(checkpoint) if checkpoint else {}
        self.step, self.position = state.get("step", 0), state.get("position", 0)
        # Batches are made in the background while the model is built.
        self.loader = open_loader(
            self.samples, self.train, processes, self.position, state.get("stream")
        )
        self.train = with_saved_padding(self.train, state)
        self.strategy = strategy_of(self.train)
        self.session = self.strategy.wrap(self.train, processes)
        self.session.extra["output"] = output
        if checkpoint:
            self._restore(checkpoint, state)
        self.metrics = (
            Metrics(output, self.train, self.session.module, processes.world_size, self.step)
            if processes.first
            else None
        )
        self.guard = Guard(self.train, processes, self.metrics, self.loader, self.step)
        self.last_step = self.steps_in_all = last_step(self.train, len(self.samples))
        self.budget = TimeBudget(self.train, processes)
        self.saved = self.step if checkpoint else -1
        self.recent: deque[float] = deque(
            state.get("recent", ()), maxlen=self.train.guard.spike_window
        )
        self.unread: list[tuple[int, int, Outcome]] = []
        self.failure: TrainerError | None = None  # of this rank
        self.loss_sum, self.loss_count = 0.0, 0

    def train_to_end(self) -> None:
        if self.train.checkpoint.at_start and self.step == 0:
            self.save()
        batches = iter(self.loader)
        while self.step < self.last_step:
            self.processes.progress.at("data", self.step + 1)
            waiting = time.perf_counter()
            micro_batches, mine = self._next(batches)
            waited = time.perf_counter() - waiting
            self.processes.progress.at("count")
            totals, stop = self._agree(*mine)
            if stop:
                return self._stop_early(stop)
            if self.metrics:
                self.metrics.count(waited, totals["tokens"])
            outcome = self._take_step(micro_batches, totals)
            if self._logs():
                self._log(outcome, micro_batches[-1])
            if self.train.evaluate.every and self.step % self.train.evaluate.every == 0:
                self._evaluate()
            if self.budget.measures:
                self.budget.measure(self.save, self._evaluation_seconds)
            if due(self.train, self.step) and self.saved != self.step:
                self.save()
        self._finish()

    def close(self, failed: bool = False) -> None:
        self.guard.close()
        self.loader.close()
        if self.metrics:
            self.metrics.close(failed)

    def save(self, wait: bool = False) -> None:
        self.processes.progress.at("save")
        self._read_losses()
        if self.processes.total([float(bool(self.failure))])[0]:
            self._give_up()  # before a bad state is saved
        self.processes.say(saving(self.train, self._epoch(), self.step))
        scaler = self.session.scaler
        state = {
            "step": self.step,
            "position": self.position,
            "samples": len(self.samples),
            "world_size": self.processes.world_size,
            "taken": self.session.taken,
            "skipped": self.session.skipped,
            "seed": self.train.seed,
            "stream": self.loader.state(self.position),
            "recent": list(self.recent),
            "scaler": scaler.state_dict() if scaler else None,
            "profile": asdict(replace(self.profile, train=self.train)),
        }
        tokenizer = tokenizer_file(self.train, self.output) if self.processes.first else None
        self.checkpoints.save(
            self.step,
            lambda folder: with_tokenizer(
                self.strategy.save(self.session, folder), tokenizer, folder
            ),
            state,
            wait,
        )
        self.saved = self.step

    def _next(self, batches: Iterator[Ready]) -> Ready:
        """Bad data on one rank ends all of them at their next collective."""
        try:
            return next(batches)
        except TrainerError as error:
            self.failure = error
            return [], (0.0, 0.0)

    def _take_step(self, micro_batches: list[Batch], totals: dict[str, float]) -> Outcome:
        accept = self._accepts if self.train.guard.spike_factor else None
        outcome: Outcome = self.strategy.step(
            self.session, micro_batches, totals, self.step + 1, accept
        )
        self.unread.append((self.step + 1, self.position, outcome))
        self.step += 1
        self.position += self.train.batch_size
        if self.processes.device.type == "cpu" or self.guard.reads:
            self._read_losses()  # free on a CPU, where nothing runs ahead
        return outcome

    def _agree(self, tokens: float, samples: float) -> tuple[dict[str, float], str]:
        """Labels and samples over all ranks, and how any rank was asked to stop; a failure on any
        rank ends all."""
        mine = [
            tokens,
            samples,
            float(self.stopping.asked),
            float(self.stopping.ends_run),
            float(bool(self.failure)),
            float(self.guard.compares),
            float(self.budget.last_step(self.step)),
        ]
        tokens, samples, stop, ends_run, failure, compares, last = self.processes.total(mine)
        if failure:
            self._give_up()
        if compares:
            self.guard.compare(self.step + 1)
        if last:
            self.last_step = min(self.steps_in_all, int(last))
        return {
            "tokens": max(1.0, tokens),
            "samples": samples,
        }, ("for good" if ends_run else "for now" if stop else "")

    def _give_up(self) -> None:
        raise next(error for error in self.processes.gathered(self.failure) if error)

    def _logs(self) -> bool:
        every = self.train.log.every
        return (
            self.step % every == 0
            or self.step == self.last_step
            or (self.step == 1 and self.train.log.first_step)
        )

    def _log(self, outcome: Outcome, batch: Batch) -> None:
        self.processes.progress.at("log")
        self._read_losses()
        loss, failure = self.processes.total([outcome.loss.item(), float(bool(self.failure))])
        if failure:
            self._give_up()
        norm = None if outcome.grad_norm is None else float(outcome.grad_norm)
        self.loss_sum, self.loss_count = self.loss_sum + loss, self.loss_count + 1
        extra: dict[str, float] = {
            **({"last_step": self.last_step} if self.last_step != self.steps_in_all else {}),
            "epoch": self._epoch(),
            "skipped": self.session.skipped,
            "samples": len(self.samples),
            "guard_alerts": self.guard.alerts.count,
            "mean_loss": self.loss_sum / self.loss_count,
        }
        if self.train.log.activations and hasattr(self.session.module, "attention_extremes"):
            extra |= self.session.module.attention_extremes(batch)
        if self.metrics:
            lr = learning_rate(self.train, self.session.taken)
            part = phase(self.train, max(0, self.session.taken - 1))
            self.metrics.step(self.step, loss, lr, norm, self.processes.device, part, extra)

    def _read_losses(self) -> None:
        """Check the losses since the last check; in between the GPU is not waited for."""
        for step, position, outcome in self.unread:
            loss, norm = outcome.loss.item(), outcome.grad_norm
            self.guard.look(step, loss, None if norm is None else float(norm))
            if self.train.guard.stop_on_nan and not self.failure and not math.isfinite(loss):
                self.failure = Unhealthy(self.guard.nan_report(step, position, outcome))
        self.unread.clear()

    def _accepts(self, share: torch.Tensor) -> bool:
        """Whether a loss is no spike against the recent ones; from the sum over all ranks, so that
        all decide alike."""
        (loss,) = self.processes.total([share.item()])
        recent = sum(self.recent) / len(self.recent) if self.recent else math.inf
        if len(self.recent) == self.recent.maxlen and loss > self.train.guard.spike_factor * recent:
            self.processes.say(
                f"step {self.step + 1}: loss {loss:.4f} is over {self.train.guard.spike_factor} x"
                f" {recent:.4f}; step skipped"
            )
            return False
        self.recent.append(loss)
        return True

    def _evaluate(self) -> None:
        self.processes.progress.at("evaluate")
        figures = evaluate(self.session, self.validation)
        if figures and self.metrics:
            self.metrics.write({"step": self.step, **figures})
            print(evaluated(self.train, self.step, figures), flush=True)

    def _evaluation_seconds(self) -> float:
        self.processes.progress.at("evaluate")
        return evaluation_seconds(self.session, self.validation)

    def _restore(self, checkpoint: Path, state: dict[str, Any]) -> None:
        self.strategy.load(self.session, checkpoint)
        self.session.taken = state.get("taken", self.step)
        self.session.skipped = state.get("skipped", 0)
        if self.session.scaler and state.get("scaler"):
            self.session.scaler.load_state_dict(state["scaler"])
        if line := resuming(self.train, self._epoch(), self.step, checkpoint):
            self.processes.say(line)

    def _finish(self) -> None:
        if self.saved != self.step:
            self.save(wait=True)
        self.checkpoints.wait()
        settings = self.train.evaluate
        has_data = self.validation is not None or settings.wikitext or settings.lambada
        if has_data and not (settings.every and self.step % settings.every == 0):
            self._evaluate()
        self.checkpoints.close()

    def _stop_early(self, how: str) -> None:
        self.processes.say(f"asked to stop at step {self.step}: saving")
        if self.saved != self.step:
            self.save(wait=True)
        self.checkpoints.wait()
        took = time.monotonic() - self.stopping.since if self.stopping.asked else 0.0
        most = self.train.checkpoint.grace_seconds
        if took > most:
            self.processes.say(
                f"saving took {took:.1f} s, more than checkpoint.grace_seconds {most}"
            )
        self.checkpoints.close(max(0.0, most - took))
        if how == "for now":
            self.stopping.await_own()
            raise AskedToEnd(
                f"asked to end at step {self.step}, but not by the run's supervisor: saved;"
                " the run can resume"
            )

    def _epoch(self) -> float:
        return float(self.position / len(self.samples))
