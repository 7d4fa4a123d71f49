"""A run on a cluster as a value: everything that is submitted follows from it."""

from __future__ import annotations

import time
from dataclasses import field
from typing import Any

from playrunner.frozen import frozen
from playrunner.training.environment.variable import Variable
from playrunner.training.kube.session import ClusterSettings
from trainer.config import Profile

# What torchrun and the kubelet get after the trainer's own checkpoint.grace_seconds
GRACE_BEYOND_SAVING = 15.0


@frozen
class Share:
    """What one pod gets of its node."""

    processes: int = 1
    device: str = "cpu"  # cpu | cuda | neuron
    resources: tuple[
        tuple[str, str], ...
    ] = ()  # asked for and limited to, in the cluster's own words
    requests: tuple[tuple[str, str], ...] = ()  # cpu, memory and disk that are asked for
    limits: tuple[tuple[str, str], ...] = ()  # and limited to
    shm_gib: int = 0  # of memory for /dev/shm; 0 is as much as the node gives
    cores: int = 1
    efa: int = 0
    instance_type: str = ""
    taints: tuple[str, ...] = ()  # keys of taints on such nodes that such a pod may pass
    notes: tuple[str, ...] = ()  # what the user should know of it


@frozen
class ClusterJob:
    name: str
    run_id: str
    profile_name: str
    profile: Profile
    launcher: str
    nodes: int
    settings: ClusterSettings
    share: Share
    environment: tuple[Variable, ...] = ()
    overrides: tuple[str, ...] = ()
    detached: bool = False
    avoid: tuple[str, ...] = ()  # nodes that its pods do not go to
    secrets: tuple[str, ...] = ()  # where they come from: NAME of a variable, or NAME=FILE
    queue: str = ""  # of Kueue, in which it waits to be admitted
    created: float = field(default_factory=time.time)

    @property
    def world_size(self) -> int:
        return self.nodes * self.share.processes

    @property
    def elastic(self) -> tuple[int, int] | None:
        """The least and most nodes; None when their number is fixed."""
        return elastic_bounds(self.profile, self.launcher, self.nodes)

    @property
    def folder(self) -> str:
        return f"{self.settings.root}/runs/{self.name}"

    @property
    def output(self) -> str:
        return f"{self.folder}/output"

    @property
    def work(self) -> str:
        """Where a script of the user's own runs; all pods see it."""
        return f"{self.folder}/work"

    @property
    def grace_seconds(self) -> int:
        return round(self.profile.train.checkpoint.grace_seconds + GRACE_BEYOND_SAVING)

    def summary(self) -> dict[str, Any]:
        """What is written down of it, on the job itself and here."""
        return {
            "name": self.name,
            "run_id": self.run_id,
            "profile": self.profile_name,
            "launcher": self.launcher,
            "script": self.profile.script,
            "namespace": self.settings.namespace,
            "world_size": self.world_size,
            "replicas": self.nodes,
            "processes": self.share.processes,
            "steps": self.profile.train.steps,
            "strategy": self.profile.train.strategy.name,
            "device": self.share.device,
            "detached": self.detached,
            "elastic": list(self.elastic) if self.elastic else None,
            "grace_seconds": self.grace_seconds,
            "hourly": self.settings.hourly * self.nodes,
            "overrides": list(self.overrides),
            "secrets": list(self.secrets),
            "output": self.output,
            "claim": self.settings.claim,
            "mount": self.settings.mount,
            "image": self.settings.image,
            "port": self.settings.port,
            "python": self.settings.python,
            "created": self.created,
        }


def elastic_bounds(profile: Profile, launcher: str, nodes: int) -> tuple[int, int] | None:
    from playrunner.training.kube.launchers import KINDS  # each of them is filled from a job

    launch = profile.launch
    if not KINDS[launcher].replicas or not launch.min_nodes:
        return None
    return min(launch.min_nodes, nodes), max(launch.max_nodes, nodes)
