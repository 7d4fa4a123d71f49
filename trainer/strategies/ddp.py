"""ddp: the whole model on every rank, gradients averaged; on one rank, plain training."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import ProcessGroup
from trainer.models import build, initialise
from trainer.strategies.activations import recompute_blocks
from trainer.strategies.session import Accept, Outcome, Session, accumulate, finish, open_session
from trainer.strategies.state import load_tensors, save_tensors


def wrap(train: Train, processes: ProcessGroup) -> Session:
    with processes.device:
        module = build(train)
    initialise(module, train.seed)
    if train.model.initial_weights:
        from trainer.models.pretrained import load_folder

        load_folder(module, train.model.initial_weights)
    session = open_session(train, processes, module, module)
    _prepare_call(session)
    return session


def _prepare_call(session: Session) -> None:
    train, processes, module = session.train, session.processes, session.module
    recompute_blocks(module, train.strategy, train.model.dropout)
    if train.fast.compile in ("blocks", "model"):
        from trainer.strategies.cuda_graphs import compiled

        session.call = compiled(module, train)
    if processes.world_size > 1 and not session.weights.mastered:
        from torch.nn.parallel import DistributedDataParallel

        ids = [processes.local_rank] if processes.device.type == "cuda" else None
        session.extra["wrapped"] = DistributedDataParallel(
            session.call, device_ids=ids, gradient_as_bucket_view=True
        )
        session.call = session.extra["wrapped"]
    if train.fast.cuda_graphs == "on":
        from trainer.strategies.cuda_graphs import Replayed

        session.extra["replayed"] = Replayed(session)


def step(
    session: Session,
    batches: list[Batch],
    counts: dict[str, float],
    number: int,
    accept: Accept | None = None,
) -> Outcome:
    replayed = session.extra.get("replayed")
    if replayed:
        losses = replayed.accumulate(batches, counts, number)
    else:
        losses = accumulate(session, batches, counts, number, lambda last: _syncing(session, last))
    if session.weights.mastered and session.processes.world_size > 1:
        _average(session.weights.gradients(), session.processes.world_size)
    return finish(session, losses, accept)


def save(session: Session, folder: Path) -> Callable[[], None]:
    return save_tensors(session, folder)


def load(session: Session, folder: Path) -> None:
    load_tensors(session, folder)


def _syncing(session: Session, last: bool) -> AbstractContextManager[Any]:
    wrapped = session.extra.get("wrapped")
    return nullcontext() if last or wrapped is None else wrapped.no_sync()  # type: ignore[no-any-return]


def _average(gradients: list[torch.Tensor], world_size: int) -> None:
    """fp32 sums of master gradients: bf16 ones would lose the small contributions of each rank."""
    waits = [torch.distributed.all_reduce(each, async_op=True) for each in gradients]
    for wait in waits:
        wait.wait()
    torch._foreach_div_(gradients, world_size)
