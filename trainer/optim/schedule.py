"""The learning rate after a number of completed steps."""

from __future__ import annotations

import math

from trainer.config import Train


def learning_rate(train: Train, completed: int) -> float:
    """The rate in force after `completed` optimizer steps; the next step is taken with it."""
    peak, schedule = train.optimizer.lr, train.schedule
    warmup, total = _stretches(train)
    if completed < warmup:
        return peak * _warmup(schedule.name, completed, warmup)
    done = max(0, completed - warmup)
    return max(schedule.min_lr, peak * _decay(schedule.name, done, warmup, total))


def phase(train: Train, completed: int) -> str:
    """Which part of the schedule a step belongs to: warm-up, constant, decay or floor."""
    warmup, total = _stretches(train)
    if completed < warmup:
        return "warm-up"
    if train.schedule.name == "constant":
        return "constant"
    return "decay" if completed < total else "floor"


def _stretches(train: Train) -> tuple[int, int]:
    """Steps of the warm-up, and steps until the decay ends."""
    total = train.schedule.decay_steps or train.steps
    return train.schedule.warmup_steps or round(train.schedule.warmup_fraction * total), total


def _warmup(name: str, completed: int, warmup: int) -> float:
    if name == "log-warmup":
        return math.log(max(1, completed)) / math.log(max(2, warmup))
    return completed / warmup


def _decay(name: str, done: int, warmup: int, total: int) -> float:
    if name == "constant":
        return 1.0
    if name == "cosine":
        # Over the whole run rather than what is left of it, as the Llama recipe has it.
        return 0.5 * (math.cos(math.pi * min(done, total) / total) + 1)
    if name == "exponential":
        return math.exp(-done / max(1, total - warmup))
    return max(0.0, (total - warmup - done) / max(1, total - warmup))


def last_step(train: Train, samples: int) -> int:
    """The step at which a run over so many samples ends."""
    if not train.epochs:
        return train.steps
    return min(train.steps, max(1, math.ceil(train.epochs * samples / train.batch_size)))


def due(train: Train, step: int) -> bool:
    """Whether a checkpoint is written after this step."""
    settings = train.checkpoint
    if settings.schedule:
        every = next((every for every, until in settings.schedule if step <= until), 0)
    else:
        every = settings.every
    return every > 0 and step % every == 0
