"""Which of how many processes this is, the group they form, and small sums over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

from trainer.config import Train
from trainer.distributed.progress_file import Pulse
from trainer.distributed.store import CannotListen, meet
from trainer.errors import BadInput, TrainerError

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
    # A second group for the checkpoint thread, whose messages must not mix with training's
    quiet_group: Any = None
    keepers: tuple[int, ...] = (
        0,
    )  # ranks that look after the run's folder: one for each that is not the same folder
    keepers_group: Any = None
    pulse: Pulse = field(default_factory=Pulse)

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def keeps(self) -> bool:
        """Whether this rank looks after the folder that it sees."""
        return self.rank in self.keepers

    @property
    def apart(self) -> bool:
        """Whether there are nodes that do not share the run's folder."""
        return len(self.keepers) > 1

    def total(self, values: list[float]) -> list[float]:
        """Each value summed over all ranks."""
        if self.world_size == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64)
        self.pulse.enter("all_reduce")
        torch.distributed.all_reduce(summed)
        self.pulse.leave()
        return summed.tolist()  # type: ignore[no-any-return]

    def agreed(self, value: Any) -> Any:
        """Rank 0's value, on every rank."""
        if self.world_size == 1:
            return value
        box = [value]
        self.pulse.enter("broadcast")
        torch.distributed.broadcast_object_list(box, src=0)
        self.pulse.leave()
        return box[0]

    def decided(self, find: Callable[[], Any]) -> Any:
        """What rank 0 finds, on every rank; what it refuses, every rank refuses."""
        answer, refusal = None, None
        if self.first:
            try:
                answer = find()
            except TrainerError as error:
                refusal = error
        answer, refusal = self.agreed((answer, refusal))
        if refusal:
            raise refusal
        return answer

    def together(self, do: Callable[[], Any]) -> Any:
        """What every rank does by itself; what one of them refuses, every rank refuses."""
        answer, refusal = None, None
        try:
            answer = do()
        except TrainerError as error:
            refusal = error
        for each in filter(None, self.gathered(refusal)):
            raise each
        return answer

    def gathered(self, value: Any) -> list[Any]:
        if self.world_size == 1:
            return [value]
        found: list[Any] = [None] * self.world_size
        self.pulse.enter("all_gather")
        torch.distributed.all_gather_object(found, value)
        self.pulse.leave()
        return found

    def say(self, text: str) -> None:
        """A line for people, once per run."""
        if self.first:
            print(text, file=sys.stderr, flush=True)


def world_size() -> int:
    return _number("WORLD_SIZE", 1)


def join(train: Train) -> Place:
    """Take the place the environment gives (RANK, WORLD_SIZE, LOCAL_RANK, ...) and meet the others
    there."""
    rank, size, local = _number("RANK", 0), world_size(), _number("LOCAL_RANK", 0)
    if not 0 <= rank < size:
        raise BadInput(f"RANK is {rank} but WORLD_SIZE is {size}")
    local_size = _number("LOCAL_WORLD_SIZE", _number("LOCAL_SIZE", size))
    device = _device(train, local)
    # Sharding strategies speak to a group even when it has one member.
    grouped = size > 1 or train.strategy.name in ("fsdp", "deepspeed")
    pulse = _pulse(rank)
    quiet = _meet(device, rank, size) if grouped else None
    keepers, among_keepers = _keepers(local, size)
    pulse.watch()
    return Place(
        rank, local, size, local_size, device, grouped, quiet, keepers, among_keepers, pulse
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


def _meet(device: torch.device, rank: int, size: int) -> Any:
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if size > 1:
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if name not in os.environ:
                raise BadInput(
                    f"WORLD_SIZE is {size} but {name} is not set; start the processes with torchrun"
                    " or set it"
                )
        try:
            meet(backend, rank, size, _PATIENCE)
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


def _pulse(rank: int) -> Pulse:
    node = os.environ.get(
        "TRAINER_NODE"
    )  # the node's part of the run's folder, where there is a keeper that made one
    return Pulse(Path(node) / f"rank-{rank}" if node else None)


def _keepers(local_rank: int, size: int) -> tuple[tuple[int, ...], Any]:
    """Who looks after a folder: rank 0 for all, or where nodes do not share it, the first rank on
    each that sees another."""
    told = os.environ.get("TRAINER_KEEPS", "")
    if not told or size == 1:
        return (0,), None
    flags: list[Any] = [None] * size
    torch.distributed.all_gather_object(flags, told == "1" and local_rank == 0)
    ranks = tuple(rank for rank, keeps in enumerate(flags) if keeps)
    return ranks, torch.distributed.new_group(list(ranks), backend="gloo", timeout=_PATIENCE)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.lstrip("-").isdigit():
        raise BadInput(f"the environment's {name} is {text!r}, not a number")
    return int(text) if text else otherwise
