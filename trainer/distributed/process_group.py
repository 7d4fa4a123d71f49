"""This process's rank, the process group, and small collectives over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from trainer.config import Train
from trainer.distributed.progress_file import ProgressFile
from trainer.distributed.store import CannotListen, init_group
from trainer.errors import BadInput, TrainerError
from trainer.frozen import frozen

_PATIENCE = timedelta(minutes=30)  # the longest wait is for the first rank to tokenise or compile


@frozen
class ProcessGroup:
    """This process and its peers."""

    rank: int
    local_rank: int
    world_size: int
    local_world_size: int
    device: torch.device
    grouped: bool  # a process group exists; plain training on one process needs none
    # A second group for the checkpoint thread, whose messages must not mix with training's
    quiet_group: Any = None
    # Ranks that maintain the run's folder: one for each folder, where nodes do not share it
    folder_owners: tuple[int, ...] = (0,)
    owners_group: Any = None
    progress: ProgressFile = field(default_factory=ProgressFile)

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def owns_folder(self) -> bool:
        """Whether this rank maintains the run's folder on its node."""
        return self.rank in self.folder_owners

    @property
    def separate_folders(self) -> bool:
        """Whether there are nodes that do not share the run's folder."""
        return len(self.folder_owners) > 1

    def total(self, values: list[float]) -> list[float]:
        """Each value summed over all ranks."""
        if self.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64)
        self.progress.enter("all_reduce")
        torch.distributed.all_reduce(summed)
        self.progress.leave()
        return summed.tolist()  # type: ignore[no-any-return]

    def agreed(self, value: Any) -> Any:
        """Rank 0's value, on every rank (broadcast)."""
        if self.world_size == 1:
            return value
        box = [value]
        self.progress.enter("broadcast")
        torch.distributed.broadcast_object_list(box, src=0)
        self.progress.leave()
        return box[0]

    def decided(self, find: Callable[[], Any]) -> Any:
        """What `find` returns on rank 0, on every rank; so is its TrainerError raised."""
        answer, failure = None, None
        if self.first:
            try:
                answer = find()
            except TrainerError as error:
                failure = error
        answer, failure = self.agreed((answer, failure))
        if failure:
            raise failure
        return answer

    def together(self, do: Callable[[], Any]) -> Any:
        """Call `do` on every rank; a TrainerError of one is raised on every rank."""
        answer, failure = None, None
        try:
            answer = do()
        except TrainerError as error:
            failure = error
        for refused in filter(None, self.gathered(failure)):
            raise refused
        return answer

    def gathered(self, value: Any) -> list[Any]:
        if self.world_size == 1:
            return [value]
        values: list[Any] = [None] * self.world_size
        self.progress.enter("all_gather")
        torch.distributed.all_gather_object(values, value)
        self.progress.leave()
        return values

    def say(self, text: str) -> None:
        """A log line, once per run."""
        if self.first:
            print(text, file=sys.stderr, flush=True)


def world_size() -> int:
    return _number("WORLD_SIZE", 1)


def join(train: Train) -> ProcessGroup:
    """Join the process group that the environment describes (RANK, WORLD_SIZE, LOCAL_RANK, ...)."""
    rank, size, local = _number("RANK", 0), world_size(), _number("LOCAL_RANK", 0)
    if not 0 <= rank < size:
        raise BadInput(f"RANK is {rank} but WORLD_SIZE is {size}")
    local_size = _number("LOCAL_WORLD_SIZE", _number("LOCAL_SIZE", size))
    device = _device(train, local)
    # Sharding strategies need a group even for one process.
    grouped = size > 1 or train.strategy.name in ("fsdp", "deepspeed")
    progress = _progress_file(rank)
    quiet = _join_group(device, rank, size) if grouped else None
    folder_owners, owners_group = _folder_owners(local, size)
    progress.watch()
    return ProcessGroup(
        rank, local, size, local_size, device, grouped, quiet, folder_owners, owners_group, progress
    )


def leave() -> None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _device(train: Train, local_rank: int) -> torch.device:
    if train.device == "cpu" or (train.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise BadInput(
            "train.device is cuda but there is no GPU here; set train.device=cpu or auto"
        )
    if local_rank >= torch.cuda.device_count():
        raise BadInput(
            f"LOCAL_RANK is {local_rank} but there are {torch.cuda.device_count()} GPUs here"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device


def _join_group(device: torch.device, rank: int, size: int) -> Any:
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if size > 1:
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if name not in os.environ:
                raise BadInput(
                    f"WORLD_SIZE is {size} but {name} is not set; start the processes with torchrun"
                    " or set it"
                )
        try:
            init_group(backend, rank, size, _PATIENCE)
        except CannotListen as error:
            raise BadInput(
                f"rank 0 {error}; MASTER_ADDR must be an address of its node, and MASTER_PORT free"
                " there"
            ) from None
    else:
        torch.distributed.init_process_group(
            backend, store=torch.distributed.HashStore(), rank=0, world_size=1
        )
    return torch.distributed.new_group(backend="gloo", timeout=_PATIENCE)


def _progress_file(rank: int) -> ProgressFile:
    # The node's part of the run's folder, where a supervisor made one
    node = os.environ.get("TRAINER_NODE")
    return ProgressFile(Path(node) / f"rank-{rank}" if node else None)


def _folder_owners(local_rank: int, size: int) -> tuple[tuple[int, ...], Any]:
    """Rank 0, or where nodes do not share the run's folder, the first rank of each folder."""
    owner = os.environ.get("TRAINER_KEEPS", "")
    if not owner or size == 1:
        return (0,), None
    flags: list[Any] = [None] * size
    torch.distributed.all_gather_object(flags, owner == "1" and local_rank == 0)
    ranks = tuple(rank for rank, owns_folder in enumerate(flags) if owns_folder)
    return ranks, torch.distributed.new_group(list(ranks), backend="gloo", timeout=_PATIENCE)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.lstrip("-").isdigit():
        raise BadInput(f"the environment's {name} is {text!r}, not a number")
    return int(text) if text else otherwise
