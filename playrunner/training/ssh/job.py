"""A training job as a value: which profile, on which nodes, started how. Everything that is
launched follows from it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from playrunner.errors import BadInput
from playrunner.frozen import frozen
from playrunner.training.request import check_bounds
from playrunner.training.ssh.launchers import LAUNCHERS
from trainer import errors as trainer_errors
from trainer.config import Profile
from trainer.validate import check

MASTER_PORT = 29500  # where torch and DeepSpeed meet unless told otherwise
LEASE_SECONDS = 15.0  # a run ends this long after its controller was last heard
# A node counts as lost this long after its last heartbeat; there is one each second
SILENCE_SECONDS = 3.5
JOIN_SECONDS = 90.0  # for all nodes to have started
GRACE_BEYOND_SAVING = 5.0  # what a process gets after its own checkpoint.grace_seconds


@frozen
class NodeSlot:
    """One node's part in a job."""

    host: str
    address: str  # as the other nodes reach it
    slots: int  # processes
    root: str  # the folder of runs and code there
    python: str  # the interpreter that trains
    first_rank: int = 0


@frozen
class Job:
    name: str
    run_id: str
    profile_name: str
    profile: Profile
    launcher: str
    nodes: tuple[NodeSlot, ...]
    port: int = MASTER_PORT
    link_port: int = MASTER_PORT + 1  # where the nodes exchange heartbeats
    detached: bool = False
    hourly: float = 0.0  # what all nodes cost, when the inventory says
    overrides: tuple[str, ...] = ()  # what the user set on top of the profile
    lease_seconds: float = LEASE_SECONDS
    share_devices: bool = False  # use devices that other processes hold memory of
    # All nodes must see the same folder; else those that do not keep copies of their own
    shared: bool = False
    gate: bool = True  # the network is proved before the first step
    expected: str = ""  # of its links, as the ranks are told
    secrets: tuple[str, ...] = ()  # where they come from: NAME of a variable, or NAME=FILE

    @property
    def gate_port(self) -> int:
        return self.port + 2

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each node in the job, by its host."""
        return {node.host: number for number, node in enumerate(self.nodes)}

    @cached_property
    def host_of_ranks(self) -> str:
        """The host of each rank, in their order."""
        return ",".join(node.host for node in self.nodes for _ in range(node.slots))

    @property
    def proves(self) -> bool:
        """Whether there is a network to prove."""
        return self.gate and len(self.nodes) > 1

    @property
    def world_size(self) -> int:
        return sum(node.slots for node in self.nodes)

    @property
    def master(self) -> NodeSlot:
        return self.nodes[0]

    @property
    def elastic(self) -> tuple[int, int] | None:
        """The least and most nodes of an elastic run."""
        launch = self.profile.launch
        if not LAUNCHERS[self.launcher].elastic or not launch.min_nodes:
            return None
        return launch.min_nodes, max(launch.max_nodes, len(self.nodes))

    @property
    def grace_seconds(self) -> float:
        return self.profile.train.checkpoint.grace_seconds + GRACE_BEYOND_SAVING

    def folder(self, node: NodeSlot) -> str:
        return f"{node.root}/runs/{self.name}"

    def work(self, node: NodeSlot) -> str:
        """Where a script of the user's own runs."""
        return f"{self.folder(node)}/work"

    def summary(self) -> dict[str, Any]:
        """What is written down of it, on every node and here."""
        return {
            "name": self.name,
            "run_id": self.run_id,
            "profile": self.profile_name,
            "launcher": self.launcher,
            "world_size": self.world_size,
            "nodes": [asdict(node) for node in self.nodes],
            "port": self.port,
            "script": self.profile.script,
            "steps": self.profile.train.steps,
            "strategy": self.profile.train.strategy.name,
            "detached": self.detached,
            "elastic": list(self.elastic) if self.elastic else None,
            "grace_seconds": self.grace_seconds,
            "hourly": self.hourly,
            "overrides": list(self.overrides),
            "gate": self.proves,
            "secrets": list(self.secrets),
            "created": time.time(),
        }


def with_ranks(nodes: Sequence[NodeSlot]) -> tuple[NodeSlot, ...]:
    """The same nodes with their first ranks counted."""
    found, rank = [], 0
    for node in nodes:
        found.append(replace(node, first_rank=rank))
        rank += node.slots
    return tuple(found)


def check_job(job: Job) -> None:
    """Refuse what cannot work, before a node is touched."""
    if LAUNCHERS[job.launcher].elastic:
        check_bounds(len(job.nodes), job.profile)
    if job.profile.script:
        return  # its settings are its own
    try:
        check(job.profile, job.world_size)
    except trainer_errors.TrainerError as error:
        raise BadInput(
            f"profile {job.profile_name} on {len(job.nodes)} node{'s' * (len(job.nodes) != 1)}:"
            f" {error}"
        ) from None


def new_run_id(name: str) -> str:
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
