"""Runs as the nodes tell of them: one view put together from what every node says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playrunner.fleet import Fleet
from playrunner.load.playbook import role_play
from playrunner.options import Options
from playrunner.run import run_plays
from roles.training.states import overall


@dataclass(frozen=True)
class Run:
    """One run, seen from all nodes that have a part in it."""

    name: str
    job: dict[str, Any]
    keepers: dict[str, dict[str, Any]]  # by host
    metrics: list[dict[str, Any]] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    silent: tuple[str, ...] = ()  # nodes that do not answer
    processes: dict[str, int] = field(default_factory=dict)
    log_bytes: dict[str, int] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        return [node["host"] for node in self.job.get("nodes", ())] or list(self.keepers)

    @property
    def state(self) -> str:
        """One word for all nodes: as long as one of them runs, the run is not over."""
        states = [said.get("state", "unknown") for said in self.keepers.values()]
        if any(state in ("running", "stopping") for state in states):
            return "running" if "running" in states else "stopping"
        return overall([*states, *["unknown" for _ in self.silent]])

    @property
    def steps(self) -> int:
        return int(self.metrics[-1]["step"]) if self.metrics else 0

    @property
    def reason(self) -> str:
        causes = [said["cause"] for said in self.keepers.values() if said.get("cause")]
        if causes:
            return f"{causes[0]['node']}: {causes[0]['what']}"
        return next((said["reason"] for said in self.keepers.values() if said.get("reason")), "")


def all_runs(fleet: Fleet, hosts: Sequence[str], name: str = "", metrics: int = 1) -> tuple[list[Run], dict[str, str]]:
    """Every run on these hosts, newest first, and the hosts that did not answer with why."""
    def asked(host: str) -> dict[str, Any]:
        return {"root": root_of(fleet, host), "host": host, "run": name, "metrics": metrics}

    answers = fleet.ask(hosts, "train.status", asked)
    silent = {host: str(said["msg"]) for host, said in answers.items() if "runs" not in said}
    found: dict[str, Run] = {}
    for host, said in answers.items():
        for one in said.get("runs", ()):
            run = found.get(one["name"]) or Run(one["name"], one["job"], {})
            # Output lies on the first node, or on all where the folder is shared.
            found[one["name"]] = replace(
                run, keepers={**run.keepers, host: one["keeper"]}, metrics=run.metrics or one["metrics"],
                checkpoints=run.checkpoints or one["checkpoints"], processes={**run.processes, host: one["processes"]},
                log_bytes={**run.log_bytes, host: one["log_bytes"]})
    runs = [replace(run, silent=tuple(host for host in run.hosts if host in silent)) for run in found.values()]
    return sorted(runs, key=lambda run: -float(run.job.get("created", 0))), silent


def root_of(fleet: Fleet, host: str) -> str:
    """A node's folder of code and runs."""
    return str(fleet.variable(host, "train_root", "~/playrunner-training"))


def find_run(fleet: Fleet, hosts: Sequence[str], name: str, metrics: int = 1) -> Run | None:
    runs, _ = all_runs(fleet, hosts, name, metrics)
    return runs[0] if runs else None


def stop_run(fleet: Fleet, job: dict[str, Any], options: Options) -> int:
    """End a run on all its nodes, its checkpoint saved, and see that nothing of it is left."""
    jobs = {node["host"]: {"folder": f"{node['root']}/runs/{job['name']}", "grace_seconds": job.get("grace_seconds", 30)}
            for node in job["nodes"]}
    play = role_play("training", ",".join(jobs), "stop")
    settings = replace(options, forks=max(options.forks, len(jobs)), extra_vars=(), limit="", json=False, quiet=options.json)
    return run_plays([play], settings, f"train.stop {job['name']}", inventory=fleet.inventory, extra={"jobs": jobs},
                     agents=fleet.agents)
