"""train: look at runs, their environment and their network."""

from __future__ import annotations

import shlex
from typing import Any

from playrunner.commands.flags import options_from, verb
from playrunner.errors import BadInput
from playrunner.training.verbs.flags import LAUNCH, LOOK, NAMED, run_backend


@verb(flags=LOOK, help=NAMED)
def status(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Show all runs: state, step, loss, tokens/s, nodes, age and cost so far."""
    from playrunner.training.backend import show_status

    return run_backend(flags, name).status(name) if name else show_status(options_from(flags))


@verb(
    flags=LOOK,
    help={
        **NAMED,
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
    if tail < 0:
        raise BadInput(f"--tail must be 0 or more, not {tail}")
    backend = run_backend(flags, name)
    return backend.logs(name, rank, host, everything=all, follow=follow, tail=tail)


@verb(
    flags={**LOOK, "set": LAUNCH["set"]},
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
    options = options_from(flags)
    chosen = chosen_launcher(options, launcher, profile, settings)
    request = Request(profile, nodes=nodes, overrides=settings, launcher=chosen)
    return choose_backend(options, launcher=chosen).env(request, why)


@verb(flags=LOOK, help=NAMED)
def why(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Diagnose a run that has not started, hangs, is slow or failed; the likeliest cause first."""
    return run_backend(flags, name).why(name)


@verb(flags=LOOK, help={"interval": "seconds between two looks at the nodes"})
def watch(context: Any, flags: dict[str, Any], interval: float = 2.0) -> int:
    """Show all runs on a live page with the newest one's loss curve; q quits."""
    from playrunner.training.backend import watch as show_page

    return show_page(options_from(flags), interval)


@verb(
    flags={**LOOK, "set": LAUNCH["set"]},
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
    return choose_backend(options_from(flags)).bench(request)


@verb(flags=LOOK, help={**NAMED, "port": "the port on this machine; 0 takes a free one"})
def tensorboard(context: Any, flags: dict[str, Any], name: str = "", port: int = 6006) -> int:
    """Serve a run's TensorBoard on this machine until Ctrl-C."""
    return run_backend(flags, name).tensorboard(name, port)


@verb(
    flags=LOOK,
    help={
        **NAMED,
        "rank": "on the node of this rank, over SSH",
        "host": "on this node, over SSH",
        "command": "run this command instead of an interactive shell; so does what follows --",
    },
)
def shell(
    context: Any,
    flags: dict[str, Any],
    name: str = "",
    rank: int = 0,
    host: str = "",
    command: str = "",
) -> int:
    """Open a shell in a run's folder with its variables; on clusters in a temporary pod with its
    claim."""
    from playrunner.training.verbs.scripts import words_after_dashes

    if words := words_after_dashes():
        command = shlex.join(words)
    return run_backend(flags, name).shell(name, rank, host, command)
