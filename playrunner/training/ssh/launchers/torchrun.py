"""torchrun: one agent per node, fixed or elastic."""

from __future__ import annotations

from playrunner.training.ssh.job import Job, NodeSlot
from playrunner.training.ssh.launchers.launcher import RANK_PREFIX, Command, SshLauncher
from trainer.node import starts


def _commands(
    job: Job, node: NodeSlot, trainer: list[str], common: dict[str, str]
) -> list[Command]:
    argv = [
        node.python,
        "-u",
        "-m",
        "trainer.torchrun",
        f"--nproc-per-node={node.slots}",
        "--tee=3",
    ]
    environment = {**common, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": RANK_PREFIX}
    if job.elastic:
        # Only the ranks of the first rendezvous learn of the shared store; one that joins later
        # would wait for it until its timeout.
        environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        output = f"{job.folder(node)}/output"
        environment |= starts.setting(output, job.run_id, job.profile.launch, elastic=True)
        least, most = job.elastic
        argv += [
            f"--nnodes={least}:{most}",
            f"--max-restarts={job.profile.launch.max_restarts}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={job.master.address}:{job.port}",
            f"--local-addr={node.address}",
            # How soon the others resume: a node counts as lost after three missed heartbeats, and
            # further nodes then have 5 s to join.
            "--rdzv-conf=join_timeout=120,last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3,"
            f"is_host={int(node is job.master)}",
        ]
    else:
        argv += [
            f"--nnodes={len(job.nodes)}",
            f"--node-rank={job.places[node.host]}",
            "--max-restarts=0",
            f"--master-addr={job.master.address}",
            f"--master-port={job.port}",
        ]
    argv += job.profile.launch.launcher_args
    return [{"argv": [*argv, *trainer], "label": "node", "environment": environment}]


LAUNCHER = SshLauncher("torchrun", _commands, elastic=True)
