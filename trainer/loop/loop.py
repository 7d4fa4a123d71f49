"""The training loop: take a batch, take a step, write it down, save when due."""

from __future__ import annotations

import math
import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from trainer.checkpoint.checkpoint import Checkpoints, read_state
from trainer.config import Profile
from trainer.data import open_samples
from trainer.data.loader import Batch, Ready
from trainer.data.opening import open_loader
from trainer.distributed.process_group import Place
from trainer.errors import AskedToEnd, TrainerError, Unhealthy
from trainer.loop.log_styles import evaluated, resuming, saving
from trainer.loop.metrics import Metrics
from trainer.optim.schedule import due, learning_rate
from trainer.strategies import strategy_of
from trainer.strategies.session import Outcome

# Launchers on all nodes see within a second that they are to start again. A pod may be asked to go
# alone: then nobody asks here.
_OWN_SIGNAL_SECONDS = float(os.environ.get("TRAINER_SIGNAL_SECONDS") or 30.0)


def run(profile: Profile, output: Path, place: Place) -> None:
    """Train from the newest checkpoint, or from nothing, to the profile's end."""
    training = Training(profile, output, place)
    try:
        training.go_on()
    finally:
        training.close()


class Training:
    def __init__(self, profile: Profile, output: Path, place: Place) -> None:
        self.profile, self.train, self.place = profile, profile.train, place
        self.stopping = _StopRequest()
        self.samples, self.validation = place.together(
            lambda: open_samples(self.train, output, place.world_size)
        )
        self.checkpoints = Checkpoints(output / "checkpoints", self.train.checkpoint, place)
        self.step, self.position = 0, 0
        found = self.checkpoints.find()
        state = read_state(found) if found else {}
        self.step, self.position = state.get("step", 0), state.get("position", 0)
        # Batches are being made while the model is.
        self.loader = open_loader(
            self.samples, self.train, place, self.position, state.get("stream")
        )
        self.strategy = strategy_of(self.train)
        self.session = self.strategy.wrap(self.train, place)
        self.session.extra["output"] = output
        if found:
            self._restore(found, state)
        self.metrics = (
            Metrics(output, self.train, self.session.module, place.world_size, self.step)
            if place.first
            else None
        )
        self.last_step = self._last_step()
        self.saved = self.step if found else -1
        self.recent: deque[float] = deque(
            state.get("recent", ()), maxlen=self.train.guard.spike_window
        )
        self.unread: list[tuple[int, int, Outcome]] = []
        self.trouble: TrainerError | None = None  # what went wrong on this rank
        self.loss_sum, self.loss_count = 0.0, 0

    def go_on(self) -> None:
        if self.train.checkpoint.at_start and self.step == 0:
            self.save()
        batches = iter(self.loader)
        while self.step < self.last_step:
            self.place.pulse.at("data", self.step + 1)
            waiting = time.perf_counter()
            micro_batches, mine = self._next(batches)
            if self.metrics:
                self.metrics.waited += time.perf_counter() - waiting
            self.place.pulse.at("count")
            totals, stop = self._agree(*mine)
            if stop:
                return self._stop_early(stop)
            outcome = self._take_step(micro_batches, totals)
            if self._logs():
                self._log(outcome, micro_batches[-1])
            if self.train.evaluate.every and self.step % self.train.evaluate.every == 0:
                self._evaluate()
            if due(self.train, self.step):
                self.save()
        self._finish()

    def close(self) -> None:
        self.loader.close()
        if self.metrics:
            self.metrics.close()

    def save(self, wait: bool = False) -> None:
        self.place.pulse.at("save")
        self._read_losses()
        if self.place.total([float(bool(self.trouble))])[0]:
            self._give_up()  # before anything spoilt is written
        self.place.say(saving(self.train, self._epoch(), self.step))
        scaler = self.session.scaler
        state = {
            "step": self.step,
            "position": self.position,
            "samples": len(self.samples),
            "world_size": self.place.world_size,
            "taken": self.session.taken,
            "skipped": self.session.skipped,
            "seed": self.train.seed,
            "stream": self.loader.state(self.position),
            "recent": list(self.recent),
            "scaler": scaler.state_dict() if scaler else None,
            "profile": asdict(self.profile),
        }
        self.checkpoints.save(
            self.step, lambda folder: self.strategy.save(self.session, folder), state, wait
        )
        self.saved = self.step

    def _next(self, batches: Iterator[Ready]) -> Ready:
        """Data that turns out bad on one rank ends all of them, when they next agree on something."""
        try:
            return next(batches)
        except TrainerError as error:
            self.trouble = error
            return [], (0.0, 0.0)

    def _take_step(self, micro_batches: list[Batch], totals: dict[str, float]) -> Outcome:
        accept = self._accepts if self.train.guard.spike_factor else None
        outcome: Outcome = self.strategy.step(
            self.session, micro_batches, totals, self.step + 1, accept
        )
        self.unread.append((self.step + 1, self.position, outcome))
        self.step += 1
        self.position += self.train.batch_size
        if self.place.device.type == "cpu":
            self._read_losses()  # costs nothing where nothing runs ahead
        return outcome

    def _agree(self, tokens: float, samples: float) -> tuple[dict[str, float], str]:
        """Labels and samples over all ranks, and how any rank was asked to stop; trouble on any
        rank ends all."""
        mine = [
            tokens,
            samples,
            float(self.stopping.asked),
            float(self.stopping.ends_run),
            float(bool(self.trouble)),
        ]
        tokens, samples, stop, ends_run, trouble = self.place.total(mine)
        if trouble:
            self._give_up()
        return {
            "tokens": max(1.0, tokens),
            "samples": samples,
        }, ("for good" if ends_run else "for now" if stop else "")

    def _give_up(self) -> None:
        raise next(error for error in self.place.gathered(self.trouble) if error)

    def _logs(self) -> bool:
        every = self.train.log.every
        return (
            self.step % every == 0
            or self.step == self.last_step
            or (self.step == 1 and self.train.log.first_step)
        )

    def _log(self, outcome: Outcome, batch: Batch) -> None:
        self.place.pulse.at("log")
        self._read_losses()
        loss, trouble = self.place.total([outcome.loss.item(), float(bool(self.trouble))])
        if trouble:
            self._give_up()
        norm = None if outcome.grad_norm is None else float(outcome.grad_norm)
        extra = {
            "epoch": self._epoch(),
            "skipped": self.session.skipped,
            "samples": len(self.samples),
        }
        self.loss_sum, self.loss_count = self.loss_sum + loss, self.loss_count + 1
        extra["mean_loss"] = self.loss_sum / self.loss_count
        if self.train.log.activations and hasattr(self.session.module, "attention_extremes"):
            extra |= self.session.module.attention_extremes(batch)
        if self.metrics:
            lr = learning_rate(self.train, self.session.taken)
            self.metrics.step(self.step, loss, lr, norm, self.place.device, extra)

    def _read_losses(self) -> None:
        """Look at the losses of steps since the last look; a GPU is not waited for in between."""
        for step, position, outcome in self.unread:
            if (
                self.train.guard.stop_on_nan
                and not self.trouble
                and not math.isfinite(outcome.loss.item())
            ):
                self.trouble = Unhealthy(self._complaint(step, position, outcome))
        self.unread.clear()

    def _complaint(self, step: int, position: int, outcome: Outcome) -> str:
        bad = [turn for turn, loss in enumerate(outcome.losses) if not math.isfinite(loss.item())]
        turn = bad[0] * self.place.world_size + self.place.rank if bad else self.place.rank
        return (
            f"step {step}: the loss is {outcome.loss.item()} on rank {self.place.rank}; its"
            f" micro-batch {turn} begins with {self.loader.where(position, turn)}; the newest"
            " checkpoint is from before"
        )

    def _accepts(self, share: torch.Tensor) -> bool:
        """Whether a loss is in keeping with the recent ones; decided on all ranks' shares, so all
        decide alike."""
        (loss,) = self.place.total([share.item()])
        recent = sum(self.recent) / len(self.recent) if self.recent else math.inf
        if len(self.recent) == self.recent.maxlen and loss > self.train.guard.spike_factor * recent:
            self.place.say(
                f"step {self.step + 1}: loss {loss:.4f} is over {self.train.guard.spike_factor} x"
                f" {recent:.4f}; step skipped"
            )
            return False
        self.recent.append(loss)
        return True

    def _evaluate(self) -> None:
        from trainer.loop.evaluate import evaluate

        self.place.pulse.at("evaluate")
        found = evaluate(self.session, self.validation)
        if found and self.metrics:
            self.metrics.write({"step": self.step, **found})
            print(evaluated(self.train, self.step, found), flush=True)

    def _restore(self, found: Path, state: dict[str, Any]) -> None:
        self.strategy.load(self.session, found)
        self.session.taken, self.session.skipped = (
            state.get("taken", self.step),
            state.get("skipped", 0),
        )
        if self.session.scaler and state.get("scaler"):
            self.session.scaler.load_state_dict(state["scaler"])
        self.place.say(resuming(self.train, self._epoch(), self.step, found))

    def _finish(self) -> None:
        if self.saved != self.step:
            self.save(wait=True)
        self.checkpoints.wait()
        settings = self.train.evaluate
        something = self.validation is not None or settings.wikitext or settings.lambada
        if something and not (settings.every and self.step % settings.every == 0):
            self._evaluate()
        self.checkpoints.close()

    def _stop_early(self, how: str) -> None:
        self.place.say(f"asked to stop at step {self.step}: saving")
        if self.saved != self.step:
            self.save(wait=True)
        self.checkpoints.wait()
        took = time.monotonic() - self.stopping.since if self.stopping.asked else 0.0
        if took > self.train.checkpoint.grace_seconds:
            self.place.say(
                f"saving took {took:.1f} s, more than checkpoint.grace_seconds"
                f" {self.train.checkpoint.grace_seconds}"
            )
        self.checkpoints.close(max(0.0, self.train.checkpoint.grace_seconds - took))
        if how == "for now":
            self.stopping.await_own()
            raise AskedToEnd(
                f"asked to end at step {self.step} by somebody other than the run's keeper: saved,"
                " and not done"
            )

    def _epoch(self) -> float:
        return self.position / len(self.samples)

    def _last_step(self) -> int:
        if not self.train.epochs:
            return self.train.steps
        return min(
            self.train.steps,
            max(1, math.ceil(self.train.epochs * len(self.samples) / self.train.batch_size)),
        )


class _StopRequest:
    """SIGTERM, remembered until the step under way is done, and whether it is the run that ends or
    only its processes.

    Under a keeper the run ends when that has said so. A launcher that starts its processes again,
    because a node has joined, sends the same signal: who takes it for the end would end the run for
    all.
    """

    def __init__(self) -> None:
        self.asked, self.since = False, 0.0
        node = os.environ.get("TRAINER_NODE")
        self._word = Path(node) / "stop" if node else None
        signal.signal(signal.SIGTERM, self._ask)

    @property
    def ends_run(self) -> bool:
        return self.asked and (self._word is None or self._word.exists())

    def await_own(self) -> None:
        """Until this process is asked too: one that ended before would be taken for one that is
        done, or has failed."""
        deadline = time.monotonic() + _OWN_SIGNAL_SECONDS
        while not self.asked and time.monotonic() < deadline:
            time.sleep(0.02)

    def _ask(self, *_: object) -> None:
        self.asked, self.since = True, time.monotonic()
