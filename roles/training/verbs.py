"""train: launch, follow, inspect and stop training runs, on hosts over SSH or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb
from playrunner.training.launchers import CLUSTER_LAUNCHERS, SSH_LAUNCHERS, listed

if TYPE_CHECKING:
    from playrunner.training.backend import Backend
    from playrunner.training.kube.backend import ClusterBackend

GROUP = "train"
LIFECYCLE = False  # runs are launched and stopped, not created and deleted

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
_RUN = {name: RUN_FLAGS[name] for name in _PICKED}
_LOOK = {name: RUN_FLAGS[name] for name in ("inventory", "kubeconfig", "limit", "json")}
_LAUNCH = {
    **_RUN,
    "extra-vars": RUN_FLAGS["extra-vars"],
    "set": ([], "override a profile setting, e.g. train.steps=100; may be repeated"),
}
_JOB = {
    name: RUN_FLAGS[name]
    for name in ("inventory", "extra-vars", "check", "diff", "json", "verbose", "no-wait")
}
_NAMED = {"name": "the run's name (default: the only one running, else the newest)"}


@verb(
    flags=_LAUNCH,
    help={
        "profile": "a profile of trainer/profiles, or a YAML file",
        "name": "the run's name (default: the profile's)",
        "nodes": "number of nodes (default: the profile's)",
        "detach": "return once the run has started; it continues in the background",
        "launcher": (
            f"{listed(SSH_LAUNCHERS)} over SSH (default: the profile's);"
            f" {listed(CLUSTER_LAUNCHERS)} on a cluster (default: the inventory's train_launcher)"
        ),
        "replace": "stop a running run of the same name first; continue a finished one",
        "gate": "check the network before training (--no-gate skips the check)",
        "stage-only": "check every node and copy all files, but start nothing",
    },
)
def launch(
    context: Any,
    flags: dict[str, Any],
    profile: str = "",
    name: str = "",
    nodes: int = 0,
    detach: bool = False,
    launcher: str = "",
    replace: bool = False,
    gate: bool = True,
    stage_only: bool = False,
) -> int:
    """Start a training run from a profile and follow it (idempotent)."""
    from playrunner.training.backend import choose_backend, chosen_launcher
    from playrunner.training.request import Request

    settings = tuple(flags.pop("set"))
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    request = Request(profile, name, nodes, settings, chosen, detach, replace, gate, stage_only)
    return choose_backend(options, launcher=launcher).launch(request)


@verb(flags=_RUN)
def prepare(context: Any, flags: dict[str, Any]) -> int:
    """Create a Python environment with torch on every host, at the inventory's train_venv."""
    from playrunner.training.ssh.backend import SshBackend

    return SshBackend(_options(flags)).prepare()


@verb(flags=_LOOK, help=_NAMED)
def status(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Show all runs: state, step, loss, tokens/s, nodes, age and cost so far."""
    from playrunner.training.backend import show_status

    return _backend(flags, name).status(name) if name else show_status(_options(flags))


@verb(
    flags=_LOOK,
    help={
        **_NAMED,
        "rank": "only this rank (default: 0)",
        "host": "only this node or pod",
        "all": "every node, prefixed with its name",
        "follow": "keep printing as the log grows",
        "tail": "number of lines to start from",
    },
)
def logs(
    context: Any,
    flags: dict[str, Any],
    name: str = "",
    rank: int = 0,
    host: str = "",
    all: bool = False,
    follow: bool = False,
    tail: int = 50,
) -> int:
    """Show the output of a run's processes: rank 0's by default."""
    backend = _backend(flags, name)
    return backend.logs(name, rank, host, everything=all, follow=follow, tail=tail)


@verb(flags=_RUN, help=_NAMED)
def stop(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Save a checkpoint and stop a run; no process or object of it remains."""
    return _backend(flags, name).stop(name)


@verb(
    flags=_LAUNCH,
    help={
        **_NAMED,
        "nodes": "number of nodes (default: as before)",
        "detach": "return once the run has started",
    },
)
def resume(
    context: Any, flags: dict[str, Any], name: str = "", nodes: int = 0, detach: bool = False
) -> int:
    """Continue a run that ended early from its newest complete checkpoint."""
    settings = tuple(flags.pop("set"))
    return _backend(flags, name).resume(name, nodes, settings, detach)


@verb(
    flags=_RUN,
    help={**_NAMED, "nodes": "number of nodes", "detach": "return once the run has started"},
)
def scale(
    context: Any, flags: dict[str, Any], nodes: int = 0, name: str = "", detach: bool = False
) -> int:
    """Change a run's number of nodes; it continues from a checkpoint."""
    return _backend(flags, name).scale(name, nodes, detach)


@verb(
    flags={**_LOOK, "set": _LAUNCH["set"]},
    help={
        "profile": "a profile of trainer/profiles, or a YAML file",
        "nodes": "number of nodes",
        "launcher": "the launcher",
        "why": "explain only this variable",
    },
)
def env(
    context: Any,
    flags: dict[str, Any],
    profile: str = "",
    nodes: int = 0,
    launcher: str = "",
    why: str = "",
) -> int:
    """Show the environment variables of a run's processes, each with its reason and origin."""
    from playrunner.training.backend import choose_backend, chosen_launcher
    from playrunner.training.request import Request

    settings = tuple(flags.pop("set"))
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    request = Request(profile, nodes=nodes, overrides=settings, launcher=chosen)
    return choose_backend(options, launcher=launcher).env(request, why)


@verb(flags=_LOOK, help=_NAMED)
def why(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Diagnose a run that has not started, hangs, is slow or failed; the likeliest cause first."""
    return _backend(flags, name).why(name)


@verb(flags=_LOOK, help={"interval": "seconds between two looks at the nodes"})
def watch(context: Any, flags: dict[str, Any], interval: float = 2.0) -> int:
    """Show all runs on a live page with the newest one's loss curve; q quits."""
    from playrunner.training.backend import watch as show_page

    return show_page(_options(flags), interval)


@verb(
    flags={**_LOOK, "set": _LAUNCH["set"]},
    help={
        "profile": "take its processes and devices per node (default: one process per node)",
        "nodes": "number of nodes (default: the profile's, else all)",
    },
)
def bench(context: Any, flags: dict[str, Any], profile: str = "", nodes: int = 0) -> int:
    """Measure and judge the network between the nodes, without training."""
    from playrunner.training.backend import choose_backend
    from playrunner.training.request import Request

    request = Request(profile, nodes=nodes, overrides=tuple(flags.pop("set")))
    return choose_backend(_options(flags)).bench(request)


@verb(flags=_LOOK, help={**_NAMED, "port": "the port on this machine; 0 takes a free one"})
def tensorboard(context: Any, flags: dict[str, Any], name: str = "", port: int = 6006) -> int:
    """Serve a run's TensorBoard on this machine until Ctrl-C."""
    return _backend(flags, name).tensorboard(name, port)


@verb(
    flags=_JOB,
    help={
        "source": "s3:// or gs:// (a folder or a file), or https:// (a file)",
        "into": "the folder on the claim",
        "unpack": "unpack archives instead of keeping them",
        "files": "the exact number of files expected",
        "least": "the least number of files expected: one for every process that reads",
        "bytes": "the total size expected",
        "anonymous": "a public bucket: send no credentials",
        "region": "the bucket's region, where it is not the cluster's",
    },
)
def stage(
    context: Any,
    flags: dict[str, Any],
    source: str = "",
    into: str = "",
    unpack: bool = False,
    files: int = 0,
    least: int = 0,
    bytes: int = 0,
    anonymous: bool = False,
    region: str = "",
) -> int:
    """On clusters: copy data from a bucket or web server to the claim and verify it
    (idempotent)."""
    from playrunner.training.backend import cluster_backend
    from playrunner.training.kube.stage import StageRequest

    request = StageRequest(source, into, unpack, files, least, bytes, anonymous, region)
    return cluster_backend("stage", _options(flags)).stage(request)


@verb(
    flags=_LAUNCH,
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
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    request = Request(profile, name, nodes, settings, chosen, replace=replace)
    return cluster_backend("precompile", options, launcher=launcher).precompile(request)


@verb(
    flags=_JOB,
    help={
        **_NAMED,
        "to": "s3://BUCKET/FOLDER (default: trained-models/NAME of the inventory's bucket_name)",
    },
)
def export(context: Any, flags: dict[str, Any], name: str = "", to: str = "") -> int:
    """On clusters: write a run's model to a bucket, with its service account's role
    (idempotent)."""
    return _cluster("export", flags, name).export(name, to)


@verb(flags=_LOOK, help=_NAMED)
def netcheck(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """On clusters: check a run's network from inside its pods: DNS, rendezvous port, rank 0."""
    return _cluster("netcheck", flags, name).netcheck(name)


@verb(flags=_LOOK, help={**_NAMED, "host": "only this pod"})
def top(context: Any, flags: dict[str, Any], name: str = "", host: str = "") -> int:
    """On clusters: show a run's processes and devices in every pod (nvidia-smi, neuron-ls, ps)."""
    return _cluster("top", flags, name).top(name, host)


@verb(flags=_LOOK, help={**_NAMED, "command": "run this command instead of an interactive shell"})
def shell(context: Any, flags: dict[str, Any], name: str = "", command: str = "") -> int:
    """On clusters: open a shell in a temporary pod with the run's claim mounted."""
    return _cluster("shell", flags, name).shell(name, command)


def _backend(flags: dict[str, Any], run: str) -> Backend:
    from playrunner.training.backend import choose_backend

    return choose_backend(_options(flags), run=run)


def _cluster(verb: str, flags: dict[str, Any], run: str) -> ClusterBackend:
    from playrunner.training.backend import cluster_backend

    return cluster_backend(verb, _options(flags), run=run)


def _options(flags: dict[str, Any]) -> Any:
    """The flags these verbs share, as Options: those they do not have keep their defaults."""
    return options_from(flags)
