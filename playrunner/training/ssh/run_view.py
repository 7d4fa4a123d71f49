"""Runs as the nodes tell of them: one view put together from what every node says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playrunner.ssh.fleet import Fleet
from playrunner.training.runs.states import overall
from playrunner.training.ssh.hosts import root_of


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


def all_runs(
    fleet: Fleet, hosts: Sequence[str], name: str = "", metrics: int = 1
) -> tuple[list[Run], dict[str, str]]:
    """Every run on these hosts, newest first, and the hosts that did not answer with why."""

    def asked(host: str) -> dict[str, Any]:
        return {"root": root_of(fleet, host), "host": host, "run": name, "metrics": metrics}

    answers = fleet.ask(hosts, "train.status", asked)
    silent = {host: str(said["msg"]) for host, said in answers.items() if "runs" not in said}
    found: dict[str, Run] = {}
    for host, said in answers.items():
        for one in said.get("runs", ()):
            run = found.get(one["name"]) or Run(one["name"], one["job"], {})
            # Metrics lie on all nodes where the folder is shared, else on the first; one that was
            # the first before has old ones.
            found[one["name"]] = replace(
                run,
                job=max(run.job, one["job"], key=_created),
                keepers={**run.keepers, host: one["keeper"]},
                metrics=max(run.metrics, one["metrics"], key=_newest),
                checkpoints=sorted({*run.checkpoints, *one["checkpoints"]}),
                processes={**run.processes, host: one["processes"]},
                log_bytes={**run.log_bytes, host: one["log_bytes"]},
            )
    found = {name: replace(run, keepers=_of_this_life(run)) for name, run in found.items()}
    runs = [
        replace(run, silent=tuple(host for host in run.hosts if host in silent))
        for run in found.values()
    ]
    return sorted(runs, key=lambda run: -float(run.job.get("created", 0))), silent


def _of_this_life(run: Run) -> dict[str, dict[str, Any]]:
    """A node that had a part in an earlier life, on other nodes, has no say any more, unless
    something still runs there."""
    return {
        host: said
        for host, said in run.keepers.items()
        if host in run.hosts or said.get("state") in ("running", "stopping")
    }


def _created(job: dict[str, Any]) -> float:
    return float(job.get("created", 0))


def _newest(metrics: list[dict[str, Any]]) -> float:
    return float(metrics[-1].get("time", 0)) if metrics else -1.0


def find_run(fleet: Fleet, hosts: Sequence[str], name: str, metrics: int = 1) -> Run | None:
    runs, _ = all_runs(fleet, hosts, name, metrics)
    return runs[0] if runs else None
