"""A last look at the nodes of a run that ended: what each has of it now. A node that fell silent
may answer, and have lost no more than its supervisor or the run's folder."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from playrunner.ssh.fleet import Fleet
from playrunner.training.ssh.run_view import all_runs
from playrunner.training.ssh.why import ask_within
from trainer.node.failure import FOLDER_GONE, NODE_LOST

SILENT_SECONDS = 3.0  # for a node that was silent: one without power answers never

States = dict[str, dict[str, Any]]


def last_look(
    fleet: Fleet, job: dict[str, Any], states: States, silent: Collection[str]
) -> tuple[States, list[str]]:
    """What each node's supervisor said, corrected; and the run's checkpoints, oldest first."""
    nodes = {node["host"]: node for node in job["nodes"]}
    heard = [host for host in nodes if host not in silent]
    runs, unreachable = all_runs(fleet, heard, job["name"]) if heard else ([], {})
    now: States = dict(runs[0].supervisors) if runs else {}
    answered = [host for host in heard if host not in unreachable]
    if quiet := {host: _asked(job, node) for host, node in nodes.items() if host in silent}:
        for host, answer in ask_within(fleet, "train.status", quiet, SILENT_SECONDS).items():
            if "runs" in answer:
                answered.append(host)
                if answer["runs"]:
                    now[host] = answer["runs"][0]["supervisor"]
    seen = {host: _seen(nodes[host], job["name"], now.get(host)) for host in answered}
    corrected = {host: state for host, state in seen.items() if state and _in_doubt(states, host)}
    return {**states, **corrected}, runs[0].checkpoints if runs else []


def _asked(job: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return {"root": node["root"], "host": node["host"], "run": job["name"], "metrics": 1}


def _seen(
    node: dict[str, Any], run: str, supervisor: dict[str, Any] | None
) -> dict[str, Any] | None:
    """A state that explains more than silence does; None where there is nothing to add."""
    if supervisor:
        return supervisor if supervisor.get("state") == "lost" else None
    what = (
        f"its folder {node['root']}/runs/{run} is not there any more: it was deleted, or its disk"
        " is not mounted"
    )
    cause = {"node": node["host"], "kind": FOLDER_GONE, "what": what}
    return {"state": "failed", "reason": f"{node['host']}: {what}", "cause": cause}


def _in_doubt(states: States, host: str) -> bool:
    said = states.get(host, {})
    lost = said.get("cause") or {}
    is_own = lost.get("kind") == NODE_LOST and lost.get("node") == host
    return said.get("state") in (None, "lost", "unknown", "running") or is_own
