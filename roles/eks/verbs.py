"""eks: an EKS cluster with its node groups, created by us or already existing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from playrunner.commands.flags import options_from, pick, verb

if TYPE_CHECKING:
    from invoke.context import Context


@verb(flags=pick("inventory", "extra-vars", "json", "no-wait", "verbose"))
def verify(context: Context, flags: dict[str, Any]) -> int:
    """Verify an existing cluster: every problem with its fix; changes nothing."""
    from playrunner.playbook.playbook import roles_play
    from playrunner.run.run import run_plays

    options = replace(options_from(flags), check=True)
    return run_plays([_only_verified(roles_play(["eks"]))], options, "eks.verify")


def _only_verified(play: Any) -> Any:
    """The role and its network with their variables, but only the steps that verify the cluster."""
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
