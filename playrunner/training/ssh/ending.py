"""Ending a run on all its nodes, and looking for what is left of it: processes, and memory of
devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from playrunner.options import Options
from playrunner.playbook.playbook import role_play
from playrunner.run.run import run_plays
from playrunner.ssh.fleet import Fleet

# A driver takes back the memory of an ended process within a second, of a killed one later
RELEASE_SECONDS = 10.0


@dataclass(frozen=True)
class Holder:
    """A process that holds memory of a device."""

    host: str
    pid: int
    mib: int  # 0 where the driver does not say
    device: str
    name: str = ""  # nothing: the process is gone, and its memory is not
    ours: bool = False

    @property
    def text(self) -> str:
        what = f"{self.mib} MiB" if self.mib else "memory"
        who = f"pid {self.pid} ({self.name})" if self.name else f"pid {self.pid}, which has ended,"
        return f"{self.host}: {who} holds {what} of {self.device}"


def stop_run(fleet: Fleet, job: dict[str, Any], options: Options) -> int:
    """End a run on all its nodes, its checkpoint saved."""
    jobs = {
        node["host"]: {
            "folder": f"{node['root']}/runs/{job['name']}",
            "grace_seconds": job.get("grace_seconds", 30),
        }
        for node in job["nodes"]
    }
    play = role_play("training", ",".join(jobs), "stop")
    settings = replace(
        options,
        forks=max(options.forks, len(jobs)),
        extra_vars=(),
        limit="",
        json=False,
        quiet=options.json,
    )
    return run_plays(
        [play],
        settings,
        f"train.stop {job['name']}",
        inventory=fleet.inventory,
        extra={"jobs": jobs},
        agents=fleet.agents,
    )


def held_memory(
    fleet: Fleet, job: dict[str, Any], patience: float = RELEASE_SECONDS
) -> list[Holder]:
    """Who holds memory of the nodes' devices; what the run itself held is given this long to come
    back."""
    roots = {node["host"]: node["root"] for node in job["nodes"]}
    answers = fleet.ask(
        roots,
        "train.memory",
        lambda host: {
            "run": f"{roots[host]}/runs/{job['name']}",
            "host": host,
            "patience_seconds": patience,
        },
    )
    return [
        Holder(host, **each) for host, said in answers.items() for each in said.get("holders", ())
    ]
