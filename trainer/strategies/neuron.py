"""neuron: AWS Trainium through torch-neuronx and XLA; whole model on every core, gradients summed
over all."""

from __future__ import annotations

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
    autocast,
    finish,
    normalised,
    open_session,
    seed_micro_batch,
)
from trainer.strategies.state import load_tensors, save_tensors


def wrap(train: Train, processes: ProcessGroup) -> Session:
    xla = _import()
    if processes.grouped:
        # Neuron's collectives are set up by this backend; what ranks tell one another about the run
        # stays with gloo, on their hosts.
        torch.distributed.new_group(backend="xla")
    processes = replace(processes, device=_device(xla))
    module = build(train)
    initialise(module, train.seed)  # on the host: compiling a graph per tensor would take hours
    module.to(processes.device)
    session = open_session(train, processes, module, module)
    session.extra["xla"] = xla
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
        # The compiler's own casting is off (NEURON_CC_FLAGS); XLA_USE_BF16 has no effect from
        # torch-xla 2.8 on.
        with autocast(session):
            sums = session.call(moved)
        loss = normalised(session, sums, counts)
        loss.backward()
        losses.append(loss.detach())
        _sync(xla)
    xla.all_reduce(xla.REDUCE_SUM, session.weights.gradients())  # first the sum, then the clipping
    outcome = finish(session, losses, accept)
    _sync(xla)
    return outcome


def save(session: Session, folder: Path) -> Callable[[], None]:
    return save_tensors(session, folder)


def load(session: Session, folder: Path) -> None:
    load_tensors(session, folder)


def _import() -> Any:
    try:
        import torch_neuronx  # noqa: F401
        import torch_xla.core.xla_model as xla
        import torch_xla.distributed.xla_backend  # noqa: F401
    except ImportError:
        raise BadInput(
            "strategy neuron needs torch-neuronx, which is not installed: pip install torch-neuronx"
            " neuronx-cc --extra-index-url https://pip.repos.neuron.amazonaws.com; elsewhere use"
            " strategy ddp, fsdp or deepspeed"
        ) from None
    torch.manual_seed(0)
    return xla


def _device(xla: Any) -> torch.device:
    """By its name of today; the guide's versions have the older one only."""
    import torch_xla

    device: torch.device = torch_xla.device() if hasattr(torch_xla, "device") else xla.xla_device()
    return device


def _sync(xla: Any) -> None:
    """Compile and run what was recorded so far."""
    import torch_xla

    (torch_xla.sync if hasattr(torch_xla, "sync") else xla.mark_step)()
