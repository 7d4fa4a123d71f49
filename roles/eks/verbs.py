"""eks: a Kubernetes cluster on AWS, with its nodes; or one that is already there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playrunner.commands.flags import RUN_FLAGS, options_from, verb

_PICKED = ("inventory", "extra-vars", "json", "no-wait", "verbose")
_LOOK = {name: RUN_FLAGS[name] for name in _PICKED}


@verb(flags=_LOOK)
def verify(context: Any, flags: dict[str, Any]) -> int:
    """Say everything that keeps a cluster from being used, each with its remedy; touches nothing."""
    from playrunner.playbook.playbook import roles_play
    from playrunner.run.run import run_plays

    full = {name.replace("-", "_"): default for name, (default, _) in RUN_FLAGS.items()}
    options = replace(options_from({**full, **flags}), check=True)
    return run_plays([_only_verified(roles_play(["eks"]))], options, "eks.verify")


def _only_verified(play: Any) -> Any:
    """The role's variables and those of its network, but of its steps only the look at the cluster."""
    from playrunner.model import steps_of

    steps = [
        step
        for section in play.sections
        for step in steps_of(section)
        if step.module in ("aws.eks_verify", "aws.eks_usable")
    ]
    return replace(
        play,
        sections=(
            tuple(replace(step, keywords=replace(step.keywords, when=())) for step in steps),
        ),
    )
