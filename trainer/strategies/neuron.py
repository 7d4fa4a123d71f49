"""neuron: AWS Trainium through torch-neuronx and XLA; whole model on every core, gradients summed
over all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput
from trainer.models import build, initialise
from trainer.strategies.session import (
    Accept,
    Outcome,
    Session,
    finish,
    normalised,
    open_session,
    seed_micro_batch,
)
from trainer.strategies.state import load_tensors, save_tensors


def wrap(train: Train, processes: ProcessGroup) -> Session:
    if train.precision == "bf16":
        os.environ.setdefault(
            "XLA_USE_BF16", "1"
        )  # the compiler casts; autocast would only add operations
    xla = _import()
    processes = replace(processes, device=xla.xla_device())
    module = build(train)
    initialise(module, train.seed)  # on the host: compiling a graph per tensor would take hours
    module.to(processes.device)
    session = open_session(train, processes, module, module)
    session.extra["own_precision"], session.extra["xla"] = True, xla
    return session


def step(
    session: Session,
    batches: list[Batch],
    counts: dict[str, float],
    number: int,
    accept: Accept | None = None,
) -> Outcome:
    xla, losses = session.extra["xla"], []
    for turn, batch in enumerate(batches):
        seed_micro_batch(session, number, turn)
        moved = {name: tensor.to(session.processes.device) for name, tensor in batch.items()}
        loss = normalised(session, session.call(moved), counts)
        loss.backward()
        losses.append(loss.detach())
        xla.mark_step()
    xla.all_reduce(xla.REDUCE_SUM, session.weights.gradients())  # first the sum, then the clipping
    outcome = finish(session, losses, accept)
    xla.mark_step()
    return outcome


def save(session: Session, folder: Path) -> Callable[[], None]:
    return save_tensors(session, folder)


def load(session: Session, folder: Path) -> None:
    load_tensors(session, folder)


def _import() -> Any:
    try:
        import torch_neuronx  # noqa: F401
        import torch_xla.core.xla_model as xla
    except ImportError:
        raise BadInput(
            "strategy neuron needs torch-neuronx, which is not installed: pip install torch-neuronx"
            " neuronx-cc --extra-index-url https://pip.repos.neuron.amazonaws.com; elsewhere use"
            " strategy ddp, fsdp or deepspeed"
        ) from None
    torch.manual_seed(0)
    return xla
