"""train: training runs across nodes: launched, followed, looked at and stopped from here."""

from __future__ import annotations

from typing import Any

from playrunner.cli import RUN_FLAGS, options_from, verb

GROUP = "train"
LIFECYCLE = False  # runs are launched and stopped, not created and deleted

_PICKED = ("inventory", "check", "diff", "limit", "forks", "json", "yes", "verbose", "no-wait")
_RUN = {name: RUN_FLAGS[name] for name in _PICKED}
_LOOK = {name: RUN_FLAGS[name] for name in ("inventory", "limit", "json")}
_LAUNCH = {**_RUN, "set": ([], "a setting of the profile, as train.steps=100; may be repeated")}
_NAMED = {"name": "the run's name (by default the only one, or the newest)"}


@verb(flags=_LAUNCH, help={
    "profile": "a profile of trainer/profiles, or a YAML file", "name": "the run's name (default: the profile's)",
    "nodes": "how many nodes (default: the profile's)", "detach": "return once it runs; it goes on by itself",
    "launcher": "deepspeed, torchrun or direct (default: the profile's)",
    "replace": "stop a run of the same name first; train a finished one on", "gate": "prove the network first (--no-gate skips)",
    "stage-only": "look at every node and put everything in place, but start nothing"})
def launch(context: Any, flags: dict[str, Any], profile: str = "", name: str = "", nodes: int = 0, detach: bool = False,
           launcher: str = "", replace: bool = False, gate: bool = True, stage_only: bool = False) -> int:
    """Start a training run from a profile and follow it; launching it twice changes nothing."""
    from roles.training.launch import launch as start
    from roles.training.planning.plan import Request

    settings = tuple(flags.pop("set"))
    request = Request(profile, name, nodes, settings, launcher, detach, replace, gate, stage_only)
    return start(request, _options(flags))


@verb(flags=_RUN)
def prepare(context: Any, flags: dict[str, Any]) -> int:
    """Make an environment with torch on every node, where the inventory's train_venv says."""
    from roles.training.prepare import prepare as make

    return make(_options(flags))


@verb(flags=_LOOK, help=_NAMED)
def status(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """All runs: state, step, loss, tokens/s, nodes, age, cost so far."""
    from roles.training.watching.status import show_status

    return show_status(_options(flags), name)


@verb(flags=_LOOK, help={**_NAMED, "rank": "only this rank (default: 0)", "host": "only this node", "all": "every node, prefixed",
                         "follow": "go on as it grows", "tail": "how many of the last lines"})
def logs(context: Any, flags: dict[str, Any], name: str = "", rank: int = 0, host: str = "", all: bool = False,
         follow: bool = False, tail: int = 50) -> int:
    """What a run's processes print: rank 0's by default."""
    from roles.training.watching.logs import show_logs

    return show_logs(_options(flags), name, rank, host, everything=all, follow=follow, tail=tail)


@verb(flags=_RUN, help=_NAMED)
def stop(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Stop a run: its checkpoint is saved, its processes end, and nothing of it is left."""
    from roles.training.stop import stop as end

    return end(_options(flags), name)


@verb(flags=_LAUNCH, help={**_NAMED, "nodes": "on this many nodes (default: as before)", "detach": "return once it runs"})
def resume(context: Any, flags: dict[str, Any], name: str = "", nodes: int = 0, detach: bool = False) -> int:
    """Go on with a run that ended early, from its newest complete checkpoint."""
    from roles.training.resume import resume as go_on

    settings = tuple(flags.pop("set"))
    return go_on(_options(flags), name, nodes, settings, detach)


@verb(flags=_RUN, help={**_NAMED, "nodes": "how many nodes it should have", "detach": "return once it runs"})
def scale(context: Any, flags: dict[str, Any], nodes: int = 0, name: str = "", detach: bool = False) -> int:
    """Give a run more or fewer nodes: it saves, and goes on from there on the new number."""
    from roles.training.resume import scale as rescale

    return rescale(_options(flags), name, nodes, detach)


@verb(flags={**_LOOK, "set": _LAUNCH["set"]}, help={
    "profile": "the profile", "nodes": "how many nodes", "launcher": "which launcher",
    "why": "only this variable, and all about it"})
def env(context: Any, flags: dict[str, Any], profile: str = "", nodes: int = 0, launcher: str = "", why: str = "") -> int:
    """The environment a run's processes get, each variable with its reason and origin."""
    from roles.training.env import show_env
    from roles.training.planning.plan import Request

    settings = tuple(flags.pop("set"))
    return show_env(Request(profile, nodes=nodes, overrides=settings, launcher=launcher), _options(flags), why)


@verb(flags=_LOOK, help=_NAMED)
def why(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Why a run has not started, hangs, is slow or failed: the likeliest cause first, with what to do next."""
    from roles.training.diagnosis.why import show_why

    return show_why(_options(flags), name)


@verb(flags=_LOOK, help={"interval": "seconds from one look at the nodes to the next"})
def watch(context: Any, flags: dict[str, Any], interval: float = 2.0) -> int:
    """All runs on a live page with the loss curve of the newest one; q ends it."""
    from roles.training.watching.watch import watch as look_on

    return look_on(_options(flags), interval)


@verb(flags={**_LOOK, "set": _LAUNCH["set"]}, help={"profile": "whose processes and devices count (default: one process a node)",
                                                  "nodes": "how many nodes (default: the profile's, else all)"})
def bench(context: Any, flags: dict[str, Any], profile: str = "", nodes: int = 0) -> int:
    """The network between the nodes, measured and judged; nothing is trained."""
    from roles.training.network.bench import bench as measure
    from roles.training.planning.plan import Request

    settings = tuple(flags.pop("set"))
    return measure(Request(profile, nodes=nodes, overrides=settings), _options(flags))


@verb(flags=_LOOK, help={**_NAMED, "port": "the port on this machine; 0 takes any that is free"})
def tensorboard(context: Any, flags: dict[str, Any], name: str = "", port: int = 6006) -> int:
    """Serve a run's curves on this machine, from its first node, until Ctrl-C."""
    from roles.training.watching.board import serve_board

    return serve_board(_options(flags), name, port)


def _options(flags: dict[str, Any]) -> Any:
    """The flags these verbs share, as Options: those they do not have keep their defaults."""
    full = {name.replace("-", "_"): default for name, (default, _) in RUN_FLAGS.items()}
    return options_from({**full, **flags})
