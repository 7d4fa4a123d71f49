"""train: what runs on clusters have of their own."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import options_from, verb
from playrunner.training.verbs.flags import LAUNCH, LOOK, NAMED, run_cluster_backend


@verb(
    flags=LAUNCH,
    help={
        "profile": "the profile to train later",
        "name": "the name to train it under",
        "nodes": "number of nodes",
        "replace": "compile again even if it was done before",
        "launcher": "usually vcjob (default: the inventory's train_launcher)",
    },
)
def precompile(
    context: Any,
    flags: dict[str, Any],
    profile: str = "",
    name: str = "",
    nodes: int = 0,
    launcher: str = "",
    replace: bool = False,
) -> int:
    """On clusters: compile a profile's graphs for Trainium into the cacheset, in at most ten
    steps."""
    from playrunner.training.backend import chosen_launcher, cluster_backend
    from playrunner.training.request import Request

    settings = tuple(flags.pop("set"))
    options = options_from(flags)
    chosen = chosen_launcher(options, launcher, profile, settings)
    request = Request(profile, name, nodes, settings, chosen, replace=replace)
    return cluster_backend("precompile", options, launcher=chosen).precompile(request)


@verb(flags=LOOK, help=NAMED)
def netcheck(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """On clusters: check a run's network from inside its pods: DNS, rendezvous port, rank 0."""
    return run_cluster_backend("netcheck", flags, name).netcheck(name)


@verb(flags=LOOK, help={**NAMED, "host": "only this pod"})
def top(context: Any, flags: dict[str, Any], name: str = "", host: str = "") -> int:
    """On clusters: show a run's processes and devices in every pod (nvidia-smi, neuron-ls, ps)."""
    return run_cluster_backend("top", flags, name).top(name, host)
