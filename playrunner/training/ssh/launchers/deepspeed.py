"""deepspeed: DeepSpeed's own launcher on each node, started by us instead of over its SSH."""

from __future__ import annotations

import base64
import json

from playrunner.training.ssh.job import Job, NodeSlot
from playrunner.training.ssh.launchers.launcher import Command, SshLauncher


def _commands(
    job: Job, node: NodeSlot, trainer: list[str], common: dict[str, str]
) -> list[Command]:
    world = {other.host: list(range(other.slots)) for other in job.nodes}
    packed = base64.urlsafe_b64encode(json.dumps(world).encode()).decode()
    argv = [
        node.python,
        "-u",
        "-m",
        "deepspeed.launcher.launch",
        f"--world_info={packed}",
        f"--node_rank={job.places[node.host]}",
        f"--master_addr={job.master.address}",
        f"--master_port={job.port}",
        *job.profile.launch.launcher_args,
        "--module",
        *trainer[1:],
    ]
    last = node.first_rank + node.slots - 1
    label = str(last) if node.slots == 1 else f"{node.first_rank}-{last}"
    return [{"argv": argv, "environment": common, "label": label}]


LAUNCHER = SshLauncher("deepspeed", _commands, packages=("deepspeed",))
