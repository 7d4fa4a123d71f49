"""train: training runs across nodes or on a cluster: launched, followed, looked at and stopped from
here."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb

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
    "set": ([], "a setting of the profile, as train.steps=100; may be repeated"),
}
_SENT = {
    name: RUN_FLAGS[name]
    for name in ("inventory", "extra-vars", "check", "diff", "json", "verbose", "no-wait")
}
_NAMED = {"name": "the run's name (by default the only one, or the newest)"}


@verb(
    flags=_LAUNCH,
    help={
        "profile": "a profile of trainer/profiles, or a YAML file",
        "name": "the run's name (default: the profile's)",
        "nodes": "how many nodes (default: the profile's)",
        "detach": "return once it runs; it goes on by itself",
        "launcher": (
            "deepspeed, torchrun or direct over SSH (default: the profile's); job, pytorchjob,"
            " elasticjob, vcjob or deepspeedjob on a cluster (default: the inventory's"
            " train_launcher)"
        ),
        "replace": "stop a run of the same name first; train a finished one on",
        "gate": "prove the network first (--no-gate skips)",
        "stage-only": "look at every node and put everything in place, but start nothing",
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
    """Start a training run from a profile and follow it; launching it twice changes nothing."""
    from playrunner.training.ssh.plan import Request
    from playrunner.training.where import ON_CLUSTERS, chosen_launcher

    settings = tuple(flags.pop("set"))
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    request = Request(profile, name, nodes, settings, chosen, detach, replace, gate, stage_only)
    if chosen in ON_CLUSTERS:
        from playrunner.training.kube.launch import launch as submit

        return submit(request, options, chosen)
    from playrunner.training.ssh.launch import launch as start

    return start(request, options)


@verb(flags=_RUN)
def prepare(context: Any, flags: dict[str, Any]) -> int:
    """Make an environment with torch on every node, where the inventory's train_venv says."""
    from playrunner.training.ssh.prepare import prepare as make

    return make(_options(flags))


@verb(flags=_LOOK, help=_NAMED)
def status(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """All runs: state, step, loss, tokens/s, nodes, age, cost so far."""
    from playrunner.training.where import any_on_clusters, on_cluster, only_on_clusters

    options = _options(flags)
    if on_cluster(options, name) if name else any_on_clusters(options):
        from playrunner.training.kube.status import show_all, show_one

        return (
            show_one(options, name)
            if name
            else show_all(options, with_hosts=not only_on_clusters(options))
        )
    from playrunner.training.ssh.status import show_status

    return show_status(options, name)


@verb(
    flags=_LOOK,
    help={
        **_NAMED,
        "rank": "only this rank (default: 0)",
        "host": "only this node or pod",
        "all": "every node, prefixed",
        "follow": "go on as it grows",
        "tail": "how many of the last lines",
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
    """What a run's processes print: rank 0's by default."""
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.logs import show_logs as show_pods

        return show_pods(options, name, rank, host, everything=all, follow=follow, tail=tail)
    from playrunner.training.ssh.logs import show_logs

    return show_logs(options, name, rank, host, everything=all, follow=follow, tail=tail)


@verb(flags=_RUN, help=_NAMED)
def stop(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Stop a run: its checkpoint is saved, its processes end, and nothing of it is left."""
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.stop import stop as take_away

        return take_away(options, name)
    from playrunner.training.ssh.stop import stop as end

    return end(options, name)


@verb(
    flags=_LAUNCH,
    help={
        **_NAMED,
        "nodes": "on this many nodes (default: as before)",
        "detach": "return once it runs",
    },
)
def resume(
    context: Any, flags: dict[str, Any], name: str = "", nodes: int = 0, detach: bool = False
) -> int:
    """Go on with a run that ended early, from its newest complete checkpoint."""
    settings = tuple(flags.pop("set"))
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.resume import resume as submit_again

        return submit_again(options, name, nodes, settings, detach)
    from playrunner.training.ssh.resume import resume as go_on

    return go_on(options, name, nodes, settings, detach)


@verb(
    flags=_RUN,
    help={**_NAMED, "nodes": "how many nodes it should have", "detach": "return once it runs"},
)
def scale(
    context: Any, flags: dict[str, Any], nodes: int = 0, name: str = "", detach: bool = False
) -> int:
    """Give a run more or fewer nodes: it saves, and goes on from there on the new number."""
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.resume import scale as resize

        return resize(options, name, nodes)
    from playrunner.training.ssh.resume import scale as rescale

    return rescale(options, name, nodes, detach)


@verb(
    flags={**_LOOK, "set": _LAUNCH["set"]},
    help={
        "profile": "the profile",
        "nodes": "how many nodes",
        "launcher": "which launcher",
        "why": "only this variable, and all about it",
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
    """The environment a run's processes get, each variable with its reason and origin."""
    from playrunner.training.ssh.plan import Request
    from playrunner.training.where import ON_CLUSTERS, chosen_launcher

    settings = tuple(flags.pop("set"))
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    request = Request(profile, nodes=nodes, overrides=settings, launcher=chosen)
    if chosen in ON_CLUSTERS:
        from playrunner.training.kube.env import show_env as show_pods

        return show_pods(request, options, chosen, why)
    from playrunner.training.ssh.env import show_env

    return show_env(request, options, why)


@verb(flags=_LOOK, help=_NAMED)
def why(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Why a run has not started, hangs, is slow or failed: the likeliest cause first, with what to
    do next."""
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.why import show_why as show_causes

        return show_causes(options, name)
    from playrunner.training.ssh.why import show_why

    return show_why(options, name)


@verb(flags=_LOOK, help={"interval": "seconds from one look at the nodes to the next"})
def watch(context: Any, flags: dict[str, Any], interval: float = 2.0) -> int:
    """All runs on a live page with the loss curve of the newest one; q ends it."""
    from playrunner.training.where import any_on_clusters, only_on_clusters

    options = _options(flags)
    if any_on_clusters(options):
        from playrunner.training.kube.watch import watch as look_on_all

        return look_on_all(options, interval, with_hosts=not only_on_clusters(options))
    from playrunner.training.ssh.watch import watch as look_on

    return look_on(options, interval)


@verb(
    flags={**_LOOK, "set": _LAUNCH["set"]},
    help={
        "profile": "whose processes and devices count (default: one process a node)",
        "nodes": "how many nodes (default: the profile's, else all)",
    },
)
def bench(context: Any, flags: dict[str, Any], profile: str = "", nodes: int = 0) -> int:
    """The network between the nodes, measured and judged; nothing is trained."""
    from playrunner.training.ssh.plan import Request
    from playrunner.training.where import ON_CLUSTERS, chosen_launcher

    settings = tuple(flags.pop("set"))
    options, request = _options(flags), Request(profile, nodes=nodes, overrides=settings)
    launcher = chosen_launcher(options, "")
    if launcher in ON_CLUSTERS:
        from playrunner.training.kube.bench import bench as measure_pods

        return measure_pods(request, options, launcher)
    from playrunner.training.ssh.bench import bench as measure

    return measure(request, options)


@verb(flags=_LOOK, help={**_NAMED, "port": "the port on this machine; 0 takes any that is free"})
def tensorboard(context: Any, flags: dict[str, Any], name: str = "", port: int = 6006) -> int:
    """Serve a run's curves on this machine, from its first node, until Ctrl-C."""
    options = _options(flags)
    if _on_cluster(options, name):
        from playrunner.training.kube.tensorboard import serve_board as forward_board

        return forward_board(options, name, port)
    from playrunner.training.ssh.tensorboard import serve_board

    return serve_board(options, name, port)


@verb(
    flags=_SENT,
    help={
        "source": "s3:// or gs:// (a folder or a file), or https:// (a file)",
        "into": "the folder of the claim",
        "unpack": "unpack archives instead of keeping them",
        "files": "how many files there must be in the end",
        "least": "how many files at least: one for every process that reads",
        "bytes": "how large they must be together",
        "anonymous": "a public bucket: ask without credentials",
        "region": "the bucket's, where it is not the cluster's",
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
    """Bring data from a store or web server to the cluster's claim, checked and marked; a second
    time changes nothing."""
    from playrunner.training.kube.stage import Wanted
    from playrunner.training.kube.stage import stage as bring

    return bring(
        Wanted(source, into, unpack, files, least, bytes, anonymous, region), _options(flags)
    )


@verb(
    flags=_LAUNCH,
    help={
        "profile": "the profile that will train",
        "name": "the name it will train under",
        "nodes": "how many nodes",
        "replace": "again, though it was done before",
        "launcher": "vcjob, as a rule (default: the inventory's train_launcher)",
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
    """Compile a profile's graphs for Trainium into the cacheset, in ten steps at most; fails unless
    all are compiled."""
    from playrunner.training.kube.precompile import precompile as compile_first
    from playrunner.training.ssh.plan import Request
    from playrunner.training.where import chosen_launcher

    settings = tuple(flags.pop("set"))
    options = _options(flags)
    chosen = chosen_launcher(options, launcher)
    return compile_first(Request(profile, name, nodes, settings, chosen, replace=replace), options)


@verb(
    flags=_SENT,
    help={
        **_NAMED,
        "to": "s3://BUCKET/FOLDER (default: trained-models/NAME of the inventory's bucket_name)",
    },
)
def export(context: Any, flags: dict[str, Any], name: str = "", to: str = "") -> int:
    """Write a run's model to a bucket, from a pod with the role of its service account."""
    from playrunner.training.kube.export import export as write

    return write(_options(flags), name, to)


@verb(flags=_LOOK, help=_NAMED)
def netcheck(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """The network of a run on a cluster, from inside its pods: names, the port they meet at, rank
    0's address."""
    from playrunner.training.kube.netcheck import netcheck as ask

    return ask(_options(flags), name)


@verb(flags=_LOOK, help={**_NAMED, "host": "only this pod"})
def top(context: Any, flags: dict[str, Any], name: str = "", host: str = "") -> int:
    """What a run's processes and devices do right now, in every pod: nvidia-smi, neuron-ls, or the
    busiest processes."""
    from playrunner.training.kube.top import show_top

    return show_top(_options(flags), name, host)


@verb(flags=_LOOK, help={**_NAMED, "command": "run this and leave, instead of a shell to type in"})
def shell(context: Any, flags: dict[str, Any], name: str = "", command: str = "") -> int:
    """A shell in a pod of its own with the run's claim mounted; the pod goes when you leave."""
    from playrunner.training.kube.shell import open_shell

    return open_shell(_options(flags), name, command)


def _on_cluster(options: Any, name: str) -> bool:
    from playrunner.training.where import on_cluster

    return on_cluster(options, name)


def _options(flags: dict[str, Any]) -> Any:
    """The flags these verbs share, as Options: those they do not have keep their defaults."""
    full = {name.replace("-", "_"): default for name, (default, _) in RUN_FLAGS.items()}
    return options_from({**full, **flags})
