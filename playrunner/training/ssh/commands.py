"""What is started on each node: the same trainer under every launcher."""

from __future__ import annotations

from playrunner.training.data.at_launch import DATA_DIR
from playrunner.training.ssh.job import Job, NodeSlot
from playrunner.training.ssh.launchers import LAUNCHERS
from playrunner.training.ssh.launchers.launcher import Command


def commands(job: Job, node: NodeSlot, code: str) -> list[Command]:
    """One command per process that the supervisor starts on this node."""
    output = f"{job.folder(node)}/output"
    common = {"PYTHONPATH": code, "PYTHONUNBUFFERED": "1", **_gate(job, node)}
    if job.profile.script:
        trainer = ["-m", "trainer.script", job.work(node), job.profile.script, *job.profile.args]
        common |= {
            "RUN_DIR": output,
            "CHECKPOINT_DIR": f"{output}/checkpoints",
            "PLAYRUNNER_METRICS": f"{output}/metrics.jsonl",
        }
        if data := job.profile.launch.environment.get(DATA_DIR):
            common[DATA_DIR] = str(data)  # here ~ is replaced by the node's home
    else:
        profile = f"{job.folder(node)}/profile.yaml"
        trainer = ["-m", "trainer", "--profile", profile, "--output", output]
    return LAUNCHERS[job.launcher].commands(job, node, trainer, common)


def _gate(job: Job, node: NodeSlot) -> dict[str, str]:
    """What the ranks need to check the network before they train."""
    if not job.proves:
        return {}
    own = f"{job.folder(node)}/nodes/{node.host}"
    variables = {
        "TRAINER_GATE": f"{own}/gate.json",
        "TRAINER_GO": f"{own}/go",
        "TRAINER_GATE_PORT": str(job.gate_port),
        "TRAINER_GATE_EXPECTED": job.expected,
        "NODE_NAME": node.host,
    }
    if job.elastic:
        return variables  # which nodes take part is only known after the rendezvous
    return {**variables, "GATE_NODES": job.host_of_ranks}


def hostfile(job: Job) -> str:
    return "".join(f"{node.address} slots={node.slots}\n" for node in job.nodes)
