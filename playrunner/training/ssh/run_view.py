"""Runs as the nodes report them: one view put together from all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playrunner.ssh.fleet import Fleet
from playrunner.training.runs.run import Run
from playrunner.training.ssh.nodes.hosts import root_of


def all_runs(
    fleet: Fleet, hosts: Sequence[str], name: str = "", metrics: int = 1
) -> tuple[list[Run], dict[str, str]]:
    """Every run on these hosts, newest first, and the hosts that did not answer with why."""

    def asked(host: str) -> dict[str, Any]:
        return {"root": root_of(fleet, host), "host": host, "run": name, "metrics": metrics}

    answers = fleet.ask(hosts, "train.status", asked)
    silent = {host: str(said["msg"]) for host, said in answers.items() if "runs" not in said}
    runs_by_name: dict[str, Run] = {}
    for host, said in answers.items():
        for part in said.get("runs", ()):
            run = runs_by_name.get(part["name"]) or Run(part["name"], part["job"], {})
            # Metrics lie on all nodes where the folder is shared, else on the first; one that was
            # the first before has old ones.
            runs_by_name[part["name"]] = replace(
                run,
                job=max(run.job, part["job"], key=_created),
                supervisors={**run.supervisors, host: part["supervisor"]},
                metrics=max(run.metrics, part["metrics"], key=_newest),
                checkpoints=_checkpoints(run, part),
                checkpoint_bytes={**run.checkpoint_bytes, **_sizes(part)},
                processes={**run.processes, host: part["processes"]},
                guard=sorted(
                    [*run.guard, *part["guard"]], key=lambda alert: float(alert.get("time", 0))
                ),
                log_bytes={**run.log_bytes, host: part["log_bytes"]},
            )
    runs_by_name = {
        name: replace(run, supervisors=_current_attempt(run)) for name, run in runs_by_name.items()
    }
    runs = [
        replace(run, silent=tuple(host for host in run.hosts if host in silent))
        for run in runs_by_name.values()
    ]
    return sorted(runs, key=lambda run: -float(run.job.get("created", 0))), silent


def _current_attempt(run: Run) -> dict[str, dict[str, Any]]:
    """Ignore nodes that only took part in an earlier attempt, unless something still runs there."""
    return {
        host: said
        for host, said in run.supervisors.items()
        if host in run.hosts or said.get("state") in ("running", "stopping")
    }


def _checkpoints(run: Run, part: dict[str, Any]) -> list[str]:
    """Ours by their steps; those of a script of the user's own in the order it saved them."""
    both = dict.fromkeys([*run.checkpoints, *part["checkpoints"]])
    return list(both) if part["job"].get("script") else sorted(both)


def _sizes(part: dict[str, Any]) -> dict[str, int]:
    sizes = part.get("checkpoint_bytes", {})
    return {str(name): size for name, size in sizes.items() if type(size) is int and size >= 0}


def _created(job: dict[str, Any]) -> float:
    return float(job.get("created", 0))


def _newest(metrics: list[dict[str, Any]]) -> float:
    return float(metrics[-1].get("time", 0)) if metrics else -1.0


def find_run(fleet: Fleet, hosts: Sequence[str], name: str, metrics: int = 1) -> Run | None:
    runs, _ = all_runs(fleet, hosts, name, metrics)
    return runs[0] if runs else None


def checkpoints_of(fleet: Fleet, hosts: Sequence[str], name: str) -> list[str]:
    """The checkpoints of a run, oldest first, as these nodes have them now."""
    run = find_run(fleet, hosts, name) if hosts else None
    return run.checkpoints if run else []
