"""fsdp: every tensor in pieces over the ranks (FSDP2), gathered block by block as the computation
reaches it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from trainer.config import Train
from trainer.data.loader import Batch
from trainer.distributed.process_group import ProcessGroup
from trainer.errors import BadInput
from trainer.models import build, initialise
from trainer.strategies.activations import recompute_blocks
from trainer.strategies.session import Accept, Outcome, Session, accumulate, finish, open_session
from trainer.strategies.state import load_tensors, save_tensors
from trainer.validate import packs, rounds


def wrap(train: Train, processes: ProcessGroup) -> Session:
    # On the meta device a model has shapes but no storage: not even one rank ever holds all of it.
    with torch.device("meta"):
        module = build(train)
    recompute_blocks(module, train.strategy, train.model.dropout)
    if train.fast.compile in ("blocks", "model"):
        from trainer.strategies.cuda_graphs import compile_blocks, use_fused_operators

        use_fused_operators(module)
        compile_blocks(module)
    _shard(module, train, processes)
    module.to_empty(device="cpu" if train.strategy.cpu_offload else processes.device)
    initialise(module, train.seed)
    if train.strategy.cpu_offload:
        _move_buffers(module, processes)
    if train.model.initial_weights:
        from trainer.models.pretrained import load_folder

        load_folder(module, train.model.initial_weights)
    session = open_session(train, processes, module, module)
    session.extra["own_precision"] = True  # sharding casts when it gathers
    return session


def step(
    session: Session,
    batches: list[Batch],
    counts: dict[str, float],
    number: int,
    accept: Accept | None = None,
) -> Outcome:
    # Every rank gathers its pieces for every other: all must run the model equally often. Packed
    # steps differ in length, but not from rank to rank.
    world_size = session.processes.world_size
    most = len(batches) if packs(session.train) else rounds(session.train, world_size)
    losses = accumulate(
        session, batches, counts, number, lambda last: _syncing(session, last), most
    )
    return finish(session, losses, accept)


def save(session: Session, folder: Path) -> Callable[[], None]:
    return save_tensors(session, folder)


def load(session: Session, folder: Path) -> None:
    load_tensors(session, folder)


def _shard(module: Any, train: Train, processes: ProcessGroup) -> None:
    from torch.distributed.fsdp import (
        CPUOffloadPolicy,
        MixedPrecisionPolicy,
        OffloadPolicy,
        fully_shard,
    )

    low = torch.bfloat16 if train.precision == "bf16" else None
    how = {
        "mesh": _mesh(train, processes),
        # Gradients are summed over ranks in fp32: bf16 would lose the small ones of many ranks.
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=low, reduce_dtype=torch.float32 if low else None
        ),
        # Pinned memory is for copies to a GPU; where there is none it cannot be had.
        "offload_policy": CPUOffloadPolicy(processes.device.type == "cuda")
        if train.strategy.cpu_offload
        else OffloadPolicy(),
    }
    for _, _, block in module.blocks():
        fully_shard(block, **how)
    fully_shard(module, **how)


def _move_buffers(module: Any, processes: ProcessGroup) -> None:
    """Parameters move to the device when they are gathered; buffers do not."""
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            setattr(part, name, buffer.to(processes.device))


def _mesh(train: Train, processes: ProcessGroup) -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    if train.strategy.sharding == "full":
        return init_device_mesh(processes.device.type, (processes.world_size,))
    nodes, left = divmod(processes.world_size, processes.local_world_size)
    if left:
        raise BadInput(
            f"hybrid sharding needs the same number of processes on every node:"
            f" {processes.world_size} over nodes of {processes.local_world_size}"
        )
    return init_device_mesh(
        processes.device.type,
        (nodes, processes.local_world_size),
        mesh_dim_names=("replicate", "shard"),
    )


def _syncing(session: Session, last: bool) -> AbstractContextManager[Any]:
    session.module.set_requires_gradient_sync(last)
    return nullcontext()
