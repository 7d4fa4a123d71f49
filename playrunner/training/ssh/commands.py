"""What is started on each node: the same trainer under three launchers."""

from __future__ import annotations

import base64
import json
from typing import Any

from playrunner.training.ssh.job import Job, Seat

Command = dict[str, Any]  # argv, environment, label: who its lines are from

# The keeper's own form, so that a node's log reads alike under every launcher
_RANK_PREFIX = "[${rank}] "


def commands(job: Job, seat: Seat, code: str) -> list[Command]:
    """One command per process that the keeper starts on this node."""
    trainer = [
        "-m",
        "trainer",
        "--profile",
        f"{job.folder(seat)}/profile.yaml",
        "--output",
        f"{job.folder(seat)}/output",
    ]
    common = {"PYTHONPATH": code, "PYTHONUNBUFFERED": "1", **_gate(job, seat)}
    if job.launcher == "direct":
        return [_rank(job, seat, local, trainer, common) for local in range(seat.slots)]
    if job.launcher == "torchrun":
        return [_torchrun(job, seat, trainer, common)]
    return [_deepspeed(job, seat, trainer, common)]


def _gate(job: Job, seat: Seat) -> dict[str, str]:
    """What the ranks need to prove the network before they train."""
    if not job.proves:
        return {}
    own = f"{job.folder(seat)}/nodes/{seat.host}"
    told = {
        "TRAINER_GATE": f"{own}/gate.json",
        "TRAINER_GO": f"{own}/go",
        "TRAINER_GATE_PORT": str(job.gate_port),
        "NODE_NAME": seat.host,
    }
    if job.elastic:
        return told  # who takes part in which order is only known once they have met
    return {
        **told,
        "GATE_NODES": ",".join(each.host for each in job.seats for _ in range(each.slots)),
    }


def hostfile(job: Job) -> str:
    return "".join(f"{seat.address} slots={seat.slots}\n" for seat in job.seats)


def _rank(job: Job, seat: Seat, local: int, trainer: list[str], common: dict[str, str]) -> Command:
    rank = seat.first_rank + local
    place = {
        "RANK": rank,
        "LOCAL_RANK": local,
        "WORLD_SIZE": job.world_size,
        "LOCAL_WORLD_SIZE": seat.slots,
        "LOCAL_SIZE": seat.slots,
        "GROUP_RANK": job.seats.index(seat),
        "CROSS_RANK": job.seats.index(seat),
        "CROSS_SIZE": len(job.seats),
        "MASTER_ADDR": job.master.address,
        "MASTER_PORT": job.port,
    }
    environment = {**common, **{name: str(value) for name, value in place.items()}}
    return {"argv": [seat.python, "-u", *trainer], "environment": environment, "label": str(rank)}


def _torchrun(job: Job, seat: Seat, trainer: list[str], common: dict[str, str]) -> Command:
    argv = [
        seat.python,
        "-u",
        "-m",
        "trainer.torchrun",
        f"--nproc-per-node={seat.slots}",
        "--tee=3",
    ]
    environment = {**common, "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": _RANK_PREFIX}
    if job.elastic:
        # The store that ranks meet in is told to those who were there first; one who joins later
        # would wait for it in vain.
        environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        least, most = job.elastic
        argv += [
            f"--nnodes={least}:{most}",
            f"--max-restarts={job.profile.launch.max_restarts}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={job.master.address}:{job.port}",
            f"--local-addr={seat.address}",
            # How soon the others go on: a node counts as gone after three beats, then whoever else
            # comes has 5 s.
            "--rdzv-conf=join_timeout=120,last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3,"
            f"is_host={int(seat is job.master)}",
        ]
    else:
        argv += [
            f"--nnodes={len(job.seats)}",
            f"--node-rank={job.seats.index(seat)}",
            "--max-restarts=0",
            f"--master-addr={job.master.address}",
            f"--master-port={job.port}",
        ]
    return {"argv": [*argv, *trainer], "label": "node", "environment": environment}


def _deepspeed(job: Job, seat: Seat, trainer: list[str], common: dict[str, str]) -> Command:
    world = {each.host: list(range(each.slots)) for each in job.seats}
    packed = base64.urlsafe_b64encode(json.dumps(world).encode()).decode()
    argv = [
        seat.python,
        "-u",
        "-m",
        "deepspeed.launcher.launch",
        f"--world_info={packed}",
        f"--node_rank={job.seats.index(seat)}",
        f"--master_addr={job.master.address}",
        f"--master_port={job.port}",
        "--module",
        *trainer[1:],
    ]
    last = seat.first_rank + seat.slots - 1
    label = str(last) if seat.slots == 1 else f"{seat.first_rank}-{last}"
    return {"argv": argv, "environment": common, "label": label}
