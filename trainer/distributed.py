"""Which of how many processes this is, the group they form, and small sums over it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

from trainer.config import Train
from trainer.errors import BadInput

_PATIENCE = timedelta(minutes=30)  # the slowest wait is for the first rank to tokenise or compile


@dataclass(frozen=True)
class Place:
    """This process among its peers."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int
    device: torch.device
    grouped: bool  # a process group exists; plain training on one process needs none
    quiet_group: Any = None  # a second group for the checkpoint thread, whose messages must not mix with training's

    @property
    def first(self) -> bool:
        return self.rank == 0

    def total(self, values: list[float]) -> list[float]:
        """Each value summed over all ranks."""
        if self.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(summed)
        return summed.tolist()  # type: ignore[no-any-return]

    def agreed(self, value: Any) -> Any:
        """Rank 0's value, on every rank."""
        if self.world_size == 1:
            return value
        box = [value]
        torch.distributed.broadcast_object_list(box, src=0)
        return box[0]

    def gathered(self, value: Any) -> list[Any]:
        if self.world_size == 1:
            return [value]
        found: list[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(found, value)
        return found

    def say(self, text: str) -> None:
        """A line for people, once per run."""
        if self.first:
            print(text, file=sys.stderr, flush=True)


def world_size() -> int:
    return _number("WORLD_SIZE", 1)


def join(train: Train) -> Place:
    """Take the place the environment gives (RANK, WORLD_SIZE, LOCAL_RANK, ...) and meet the others there."""
    rank, size, local = _number("RANK", 0), world_size(), _number("LOCAL_RANK", 0)
    if not 0 <= rank < size:
        raise BadInput(f"RANK is {rank} but WORLD_SIZE is {size}")
    local_size = _number("LOCAL_WORLD_SIZE", _number("LOCAL_SIZE", size))
    device = _device(train, local)
    # Sharding strategies speak to a group even when it has one member.
    grouped = size > 1 or train.strategy.name in ("fsdp", "deepspeed")
    quiet = _meet(device, rank, size) if grouped else None
    return Place(rank, local, size, local_size, device, grouped, quiet)


def leave() -> None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _device(train: Train, local_rank: int) -> torch.device:
    if train.device == "cpu" or (train.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise BadInput("train.device is cuda but there is no GPU here; set train.device=cpu or auto")
    if local_rank >= torch.cuda.device_count():
        raise BadInput(f"LOCAL_RANK is {local_rank} but there are {torch.cuda.device_count()} GPUs here")
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device


def _meet(device: torch.device, rank: int, size: int) -> Any:
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if size > 1:
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if name not in os.environ:
                raise BadInput(f"WORLD_SIZE is {size} but {name} is not set; start the processes with torchrun or set it")
        torch.distributed.init_process_group(backend, timeout=_PATIENCE)
    else:
        torch.distributed.init_process_group(backend, store=torch.distributed.HashStore(), rank=0, world_size=1)
    return torch.distributed.new_group(backend="gloo", timeout=_PATIENCE)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.lstrip("-").isdigit():
        raise BadInput(f"the environment's {name} is {text!r}, not a number")
    return int(text) if text else otherwise
