"""Flags and helpers that the verbs of training share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, options_from

if TYPE_CHECKING:
    from playrunner.training.backend import Backend
    from playrunner.training.kube.backend import ClusterBackend

_PICKED = (
    "inventory",
    "kubeconfig",
    "check",
    "diff",
    "limit",
    "forks",
    "json",
    "yes",
    "verbose",
    "no-wait",
)
RUN = {name: RUN_FLAGS[name] for name in _PICKED}
LOOK = {name: RUN_FLAGS[name] for name in ("inventory", "kubeconfig", "limit", "json")}
LAUNCH = {
    **RUN,
    "extra-vars": RUN_FLAGS["extra-vars"],
    "set": ([], "override a profile setting, e.g. train.steps=100; may be repeated"),
}
JOB = {
    name: RUN_FLAGS[name]
    for name in ("inventory", "extra-vars", "check", "diff", "json", "verbose", "no-wait")
}
NAMED = {"name": "the run's name (default: the only one running, else the newest)"}


def run_backend(flags: dict[str, Any], run: str) -> Backend:
    """Where this run runs, by the inventory it was launched with; an empty name means the
    newest."""
    from playrunner.training.backend import choose_backend
    from playrunner.training.runs.remembered import with_inventory

    return choose_backend(with_inventory(options_from(flags), run), run=run)


def run_cluster_backend(verb: str, flags: dict[str, Any], run: str) -> ClusterBackend:
    """The cluster this run runs on; one over SSH is refused."""
    from playrunner.training.backend import cluster_backend
    from playrunner.training.runs.remembered import with_inventory

    return cluster_backend(verb, with_inventory(options_from(flags), run), run=run)
