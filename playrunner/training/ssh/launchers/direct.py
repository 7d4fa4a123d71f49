"""direct: one process per rank, each with its place in the environment; no other program
between."""

from __future__ import annotations

from playrunner.training.ssh.job import Job, NodeSlot
from playrunner.training.ssh.launchers.launcher import Command, SshLauncher


def _commands(
    job: Job, node: NodeSlot, trainer: list[str], common: dict[str, str]
) -> list[Command]:
    return [_rank(job, node, local, trainer, common) for local in range(node.slots)]


def _rank(
    job: Job, node: NodeSlot, local: int, trainer: list[str], common: dict[str, str]
) -> Command:
    rank = node.first_rank + local
    place = {
        "RANK": rank,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "LOCAL_WORLD_SIZE": node.slots,
        "LOCAL_SIZE": node.slots,
        "GROUP_RANK": job.places[node.host],
        "CROSS_RANK": job.places[node.host],
        "CROSS_SIZE": len(job.nodes),
        "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.port,
    }
    environment = {**common, **{name: str(value) for name, value in place.items()}}
    return {"argv": [node.python, "-u", *trainer], "environment": environment, "label": str(rank)}


LAUNCHER = SshLauncher("direct", _commands)
