"""What a wrapped model consists of, and the parts of a step that ddp and fsdp share."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any

import torch
from torch import Tensor, nn

from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import ProcessGroup
from trainer.frozen import frozen, mutable
from trainer.optim.optimizer import MasterAdamW, Weights, make_optimizer
from trainer.optim.schedule import learning_rate

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@mutable
class Session:
    train: Train
    processes: ProcessGroup
    module: Any  # the bare model: names and state
    call: Callable[[Batch], Tensor]  # the model as it is run: wrapped, compiled
    weights: Weights
    optimizer: Any
    scaler: Any = None
    # Optimizer steps actually taken: the schedule's clock, which skipped steps do not move
    taken: int = 0
    skipped: int = 0
    extra: dict[str, Any] = field(default_factory=dict)  # what one strategy keeps for itself


@frozen
class Outcome:
    """One step's results, still on the device: reading them waits for the step."""

    loss: Tensor  # this rank's share; shares of all ranks add up to the global batch's mean loss
    grad_norm: Tensor | None
    rejected: bool = False
    losses: tuple[Tensor, ...] = ()  # per micro-batch, to say which one went wrong


Accept = Callable[
    [Tensor], bool
]  # decides on the rank's share of the loss whether the step is taken


def open_session(
    train: Train, processes: ProcessGroup, module: nn.Module, call: Callable[[Batch], Tensor]
) -> Session:
    weights = Weights(module, train, processes.world_size)
    optimizer = make_optimizer(weights, train, processes.device)
    scaler = torch.amp.GradScaler(processes.device.type) if train.precision == "fp16" else None
    return Session(train, processes, module, call, weights, optimizer, scaler)


def accumulate(
    session: Session,
    batches: list[Batch],
    counts: dict[str, float],
    step: int,
    syncing: Callable[[bool], AbstractContextManager[Any]],
    rounds: int = 0,
) -> list[Tensor]:
    """Forward and backward over a step's micro-batches; `syncing(last)` says when gradients are
    exchanged. Where all ranks must take part in so many `rounds`, one with fewer micro-batches
    repeats its last one with no weight."""
    losses = []
    idle = max(0, rounds - len(batches))
    for turn, batch in enumerate([*batches, *batches[-1:] * idle]):
        seed_micro_batch(session, step, turn)
        with syncing(turn == len(batches) + idle - 1):
            session.processes.progress.at("forward")
            with autocast(session):
                sums = session.call(batch)
            loss = normalised(session, sums, counts)
            if turn >= len(batches):
                loss = loss * 0.0
            # Ranks average their gradients; the loss is already a share of the whole, so the
            # average is undone here.
            scaled = loss * session.processes.world_size
            session.processes.progress.at("backward")
            (session.scaler.scale(scaled) if session.scaler else scaled).backward()
        session.weights.collect()
        if turn < len(batches):
            losses.append(loss.detach())
    return losses


def normalised(session: Session, sums: Tensor, counts: dict[str, float]) -> Tensor:
    divisors = [counts[name] for name in session.module.normalisers]
    if len(divisors) == 1:
        return sums[0] / divisors[0]
    return (sums / torch.tensor(divisors, device=sums.device)).sum()


def finish(session: Session, losses: list[Tensor], accept: Accept | None) -> Outcome:
    """Clip, and move the weights unless the step is turned down."""
    session.processes.progress.at("optimizer")
    total = torch.stack(losses).sum()
    if accept is not None and not accept(total):
        session.weights.forget_gradients()
        session.skipped += 1
        return Outcome(total, None, rejected=True, losses=tuple(losses))
    if session.scaler:
        session.scaler.unscale_(session.optimizer)
    norm = gradient_norm(session)
    limit = session.train.optimizer.grad_clip
    shrink = torch.clamp(limit / (norm + 1e-6), max=1.0) if limit else torch.ones_like(norm)
    rate = learning_rate(session.train, session.taken)
    for group in session.optimizer.param_groups:
        group["lr"] = rate
    moved = _move(session, shrink)
    session.weights.forget_gradients()
    session.taken += moved
    session.skipped += not moved
    return Outcome(total, norm, losses=tuple(losses))


def _move(session: Session, shrink: Tensor) -> bool:
    if isinstance(session.optimizer, MasterAdamW):
        session.optimizer.move(shrink)
        return True
    # A pass over all gradients, left out when it would change nothing; only a CPU knows that
    # without waiting.
    if session.train.optimizer.grad_clip and (shrink.device.type != "cpu" or shrink.item() != 1.0):
        torch._foreach_mul_([_local(each) for each in session.weights.gradients()], shrink)
    if not session.scaler:
        session.optimizer.step()
        return True
    before = session.scaler.get_scale()
    session.scaler.step(session.optimizer)
    session.scaler.update()
    return bool(session.scaler.get_scale() >= before)


def gradient_norm(session: Session) -> Tensor:
    """Of all gradients of all ranks together, in fp32."""
    gradients = session.weights.gradients()
    if hasattr(gradients[0], "full_tensor"):
        return nn.utils.get_total_norm(gradients).full_tensor()  # type: ignore[no-any-return, attr-defined]
    norm: Tensor = torch.linalg.vector_norm(
        torch.stack(torch._foreach_norm(gradients, 2, dtype=torch.float32))
    )
    return norm


def _local(gradient: Any) -> Tensor:
    return gradient.to_local() if hasattr(gradient, "to_local") else gradient  # type: ignore[no-any-return]


def autocast(session: Session) -> AbstractContextManager[Any]:
    kind = _DTYPES.get(session.train.precision)
    if kind is None or session.extra.get("own_precision"):
        return nullcontext()
    return torch.autocast(session.processes.device.type, dtype=kind)


def seed_micro_batch(session: Session, step: int, turn: int) -> None:
    """Dropout follows from (seed, step, micro-batch) alone: a resumed or resized run drops the same
    units."""
    if session.train.model.dropout:
        number = turn * session.processes.world_size + session.processes.rank
        torch.manual_seed(zlib.crc32(f"{session.train.seed} {step} {number}".encode()))
