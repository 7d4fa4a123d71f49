"""Runs as the nodes report them: one view put together from all nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    parts: dict[str, dict[str, dict[str, Any]]] = {}  # by run, then by host
    for host, said in answers.items():
        for part in said.get("runs", ()):
            parts.setdefault(part["name"], {})[host] = part
    runs = []
    for run_name, by_host in parts.items():
        run = _put_together(run_name, by_host, _job(fleet, by_host, asked))
        runs.append(replace(run, silent=tuple(host for host in run.hosts if host in silent)))
    return sorted(runs, key=lambda run: -float(run.job.get("created", 0))), silent


def _job(
    fleet: Fleet,
    by_host: dict[str, dict[str, Any]],
    asked: Callable[[str], dict[str, Any]],
) -> dict[str, Any]:
    """The newest job of a run. Only its first nodes send all of it, since it names every node: of
    a thousand nodes a thousand times; where none of them answers, another is asked for it."""
    jobs = {host: part["job"] for host, part in by_host.items()}
    host = max(jobs, key=lambda host: (_created(jobs[host]), "nodes" in jobs[host]))
    newest: dict[str, Any] = jobs[host]
    if "nodes" in newest or not newest.get("abridged"):
        return newest
    name = by_host[host]["name"]
    told = fleet.ask([host], "train.status", lambda host: {**asked(host), "run": name, "all": True})
    whole = [part["job"] for part in told[host].get("runs", ())]
    return whole[0] if whole else newest


def _put_together(name: str, by_host: dict[str, dict[str, Any]], job: dict[str, Any]) -> Run:
    parts = list(by_host.values())
    supervisors = {host: part["supervisor"] for host, part in by_host.items()}
    sizes = [item for part in parts for item in _sizes(part).items()]
    alerts = [alert for part in parts for alert in part["guard"]]
    return Run(
        name,
        job,
        _current_attempt(supervisors, Run(name, job, supervisors).hosts),
        # Metrics lie on all nodes where the folder is shared, else on the first; one that was the
        # first before has old ones.
        metrics=max((part["metrics"] for part in parts), key=_newest),
        checkpoints=_checkpoints(parts),
        checkpoint_bytes=dict(sizes),
        processes={host: part["processes"] for host, part in by_host.items()},
        guard=sorted(alerts, key=lambda alert: float(alert.get("time", 0))),
        log_bytes={host: part["log_bytes"] for host, part in by_host.items()},
    )


def _current_attempt(
    supervisors: dict[str, dict[str, Any]], hosts: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Ignore nodes that only took part in an earlier attempt, unless something still runs there."""
    current = set(hosts)
    return {
        host: said
        for host, said in supervisors.items()
        if host in current or said.get("state") in ("running", "stopping")
    }


def _checkpoints(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Ours by their steps; those of a script of the user's own in the order it saved them."""
    all_of_them = dict.fromkeys(name for part in parts for name in part["checkpoints"])
    return list(all_of_them) if parts[-1]["job"].get("script") else sorted(all_of_them)


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
