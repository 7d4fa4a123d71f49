"""A training job as a value: which profile, on which nodes, started how. Everything that is
launched follows from it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from playrunner.errors import BadInput
from trainer import errors as trainer_errors
from trainer.config import Profile
from trainer.profile import read_profile
from trainer.validate import check

Launcher = Literal["deepspeed", "torchrun", "direct"]
LAUNCHERS = ("deepspeed", "torchrun", "direct")
MASTER_PORT = 29500  # where torch and DeepSpeed meet unless told otherwise
LEASE_SECONDS = 15.0  # a run whose controller fell silent ends after this
# A node that fell silent is taken for gone after this; they beat every second
SILENCE_SECONDS = 3.5
JOIN_SECONDS = 90.0  # for all nodes to have started
GRACE_BEYOND_SAVING = 5.0  # what a process gets after its own checkpoint.grace_seconds


@dataclass(frozen=True)
class Seat:
    """One node's part."""

    host: str
    address: str  # as the other nodes reach it
    slots: int  # processes
    root: str  # the folder of runs and code there
    python: str  # the interpreter that trains
    first_rank: int = 0


@dataclass(frozen=True)
class Job:
    name: str
    run_id: str
    profile_name: str
    profile: Profile
    launcher: Launcher
    seats: tuple[Seat, ...]
    port: int = MASTER_PORT
    link_port: int = MASTER_PORT + 1  # where the nodes hear from one another
    detached: bool = False
    hourly: float = 0.0  # what all nodes cost, when the inventory says
    overrides: tuple[str, ...] = ()  # what the user set on top of the profile
    lease_seconds: float = LEASE_SECONDS
    share_devices: bool = False  # also those that somebody else holds memory of
    # All nodes must see the same folder; else those that do not keep copies of their own
    shared: bool = False
    gate: bool = True  # the network is proved before the first step

    @property
    def gate_port(self) -> int:
        return self.port + 2

    @property
    def proves(self) -> bool:
        """Whether there is a network to prove."""
        return self.gate and len(self.seats) > 1

    @property
    def world_size(self) -> int:
        return sum(seat.slots for seat in self.seats)

    @property
    def master(self) -> Seat:
        return self.seats[0]

    @property
    def elastic(self) -> tuple[int, int] | None:
        """The least and most nodes of an elastic run."""
        launch = self.profile.launch
        if self.launcher != "torchrun" or not launch.min_nodes:
            return None
        return launch.min_nodes, max(launch.max_nodes, len(self.seats))

    @property
    def grace_seconds(self) -> float:
        return self.profile.train.checkpoint.grace_seconds + GRACE_BEYOND_SAVING

    def folder(self, seat: Seat) -> str:
        return f"{seat.root}/runs/{self.name}"

    def summary(self) -> dict[str, Any]:
        """What is written down of it, on every node and here."""
        return {
            "name": self.name,
            "run_id": self.run_id,
            "profile": self.profile_name,
            "launcher": self.launcher,
            "world_size": self.world_size,
            "nodes": [asdict(seat) for seat in self.seats],
            "port": self.port,
            "steps": self.profile.train.steps,
            "strategy": self.profile.train.strategy.name,
            "detached": self.detached,
            "elastic": list(self.elastic) if self.elastic else None,
            "grace_seconds": self.grace_seconds,
            "hourly": self.hourly,
            "overrides": list(self.overrides),
            "gate": self.proves,
            "created": time.time(),
        }


def profile_of(name: str, overrides: Sequence[str]) -> Profile:
    """The profile with its overrides; the trainer's complaints are the user's, in the user's words."""
    try:
        return read_profile(name, overrides)
    except trainer_errors.TrainerError as error:
        raise BadInput(str(error)) from None


def seated(seats: Sequence[Seat]) -> tuple[Seat, ...]:
    """The same seats with the ranks counted through."""
    found, rank = [], 0
    for seat in seats:
        found.append(replace(seat, first_rank=rank))
        rank += seat.slots
    return tuple(found)


def check_job(job: Job) -> None:
    """Refuse what cannot work, before a node is touched."""
    try:
        check(job.profile, job.world_size)
    except trainer_errors.TrainerError as error:
        raise BadInput(
            f"profile {job.profile_name} on {len(job.seats)} node{'s' * (len(job.seats) != 1)}:"
            f" {error}"
        ) from None


def new_run_id(name: str) -> str:
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def check_name(name: str) -> str:
    """A run's name becomes a folder, a process mark and a rendezvous id."""
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    if (
        not name
        or len(name) > 53
        or not set(name) <= allowed
        or name.startswith("-")
        or name.endswith("-")
    ):
        raise BadInput(f'--name "{name}": use up to 53 of a-z, 0-9 and "-", as in gpt2-micro-2')
    return name
