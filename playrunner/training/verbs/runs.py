"""train: start, stop, continue and scale runs."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import JSON_FLAG, options_from, verb
from playrunner.errors import BadInput
from playrunner.training.launchers import CLUSTER_LAUNCHERS, SSH_LAUNCHERS, listed
from playrunner.training.verbs.flags import LAUNCH, LOOK, NAMED, RUN, run_backend
from playrunner.training.verbs.scripts import (
    more_arguments,
    script_settings,
    whole_path,
    words_after_dashes,
)

_SECRET: tuple[list[str], str] = (
    [],
    "NAME, a variable of this shell, or NAME=FILE: only the ranks get its value; may be repeated",
)


@verb(
    flags={**LAUNCH, "secret": _SECRET},
    help={
        "profile": "a profile of trainer/profiles, or a YAML file",
        "script": (
            "a training program of your own in place of a profile's; the working folder is copied"
            " to the nodes, and what follows -- are its arguments"
        ),
        "name": "the run's name (default: the profile's)",
        "nodes": "number of nodes (default: the profile's)",
        "detach": "return once the run has started; it continues in the background",
        "launcher": (
            f"{listed(SSH_LAUNCHERS)} over SSH (default: the profile's);"
            f" {listed(CLUSTER_LAUNCHERS)} on a cluster (default: the inventory's"
            " train_launcher, or the profile's where the inventory has no hosts)"
        ),
        "replace": "stop a running run of the same name first; continue a finished one",
        "gate": "check the network before training (--no-gate skips the check)",
        "data": (
            "a file or folder of this machine, s3://, gs:// or hf://: copied where the ranks read"
            " it before the launch; a script finds it at $DATA_DIR"
        ),
        "notify": (
            "an http(s) address or a command that is told when the run ends, fails or stalls"
            " (PLAYRUNNER_EVENT, PLAYRUNNER_RUN and PLAYRUNNER_TEXT, or the same as JSON)"
        ),
        "stage-only": "check every node and copy all files, but start nothing",
        "queue": (
            "wait until as many nodes are free as the run needs; train.queue shows who waits (on a"
            " cluster the inventory's train_queue names the queue)"
        ),
        "priority": "with --queue: a higher one comes first, equal ones in the order they came",
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
    script: str = "",
    data: str = "",
    notify: str = "",
    queue: bool = False,
    priority: int = 0,
) -> int:
    """Start a training run from a profile, or of a script of your own, and follow it
    (idempotent)."""
    from playrunner.training.backend import choose_backend, chosen_launcher
    from playrunner.training.given_secrets import secret_sources
    from playrunner.training.request import Request, default_name

    settings = (*script_settings(script, words_after_dashes()), *flags.pop("set"))
    secrets = secret_sources(flags.pop("secret"))
    profile = whole_path(profile)
    options = options_from(flags)
    chosen = chosen_launcher(options, launcher, profile, settings)
    request = Request(
        profile,
        name,
        nodes,
        settings,
        chosen,
        detach,
        replace,
        gate,
        stage_only,
        data=data,
        secrets=secrets,
        notify=notify,
    )
    backend = choose_backend(options, launcher=chosen)
    if priority and not queue:
        raise BadInput("--priority is the place in the queue: give --queue too")

    def start() -> int:
        return backend.enqueue(request, priority) if queue else backend.launch(request)

    if not notify:
        return start()
    from playrunner.training.notify import check_target, notifying

    check_target(notify, detach)
    return notifying(start, notify, name or default_name(request))


@verb(flags=JSON_FLAG, help={"cancel": "take this run out of the queue"})
def queue(context: Any, flags: dict[str, Any], cancel: str = "") -> int:
    """Show the launches that wait for nodes over SSH, or cancel one."""
    from playrunner.training.ssh.queue import show

    return show.cancel(cancel, flags["json"]) if cancel else show.show_queue(flags["json"])


@verb(flags=RUN)
def prepare(context: Any, flags: dict[str, Any]) -> int:
    """Create a Python environment with torch on every host, at the inventory's train_venv."""
    from playrunner.training.ssh.backend import SshBackend

    return SshBackend(options_from(flags)).prepare()


@verb(flags=RUN, help=NAMED)
def stop(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Save a checkpoint and stop a run; no process or object of it remains."""
    return run_backend(flags, name).stop(name)


@verb(flags=RUN, help={"name": "the run's name"})
def delete(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Delete a run on hosts that has ended, with its checkpoints; says its size and asks first."""
    return run_backend(flags, name).delete(name)


@verb(flags=RUN, help={"keep": "how many of the newest runs that have ended to keep"})
def prune(context: Any, flags: dict[str, Any], keep: int = 3) -> int:
    """Delete the runs on hosts that have ended, but the newest; says their sizes and asks first."""
    from playrunner.training.ssh.prune import prune as prune_runs

    return prune_runs(options_from(flags), keep)


@verb(flags=LOOK, help=NAMED)
def attach(context: Any, flags: dict[str, Any], name: str = "") -> int:
    """Follow a run on hosts that goes on already; Ctrl-C leaves it and stops nothing."""
    return run_backend(flags, name).attach(name)


@verb(
    flags=LAUNCH,
    help={
        **NAMED,
        "nodes": "number of nodes (default: as before)",
        "detach": "return once the run has started",
    },
)
def resume(
    context: Any, flags: dict[str, Any], name: str = "", nodes: int = 0, detach: bool = False
) -> int:
    """Continue a run that ended early from its newest complete checkpoint; what follows -- is
    added to the arguments of a script."""
    settings = (*more_arguments(name, words_after_dashes()), *flags.pop("set"))
    return run_backend(flags, name).resume(name, nodes, settings, detach)


@verb(
    flags=RUN,
    help={**NAMED, "nodes": "number of nodes", "detach": "return once the run has started"},
)
def scale(
    context: Any, flags: dict[str, Any], nodes: int = 0, name: str = "", detach: bool = False
) -> int:
    """Change a run's number of nodes; it continues from a checkpoint."""
    return run_backend(flags, name).scale(name, nodes, detach)
