"""The stages of a rehearsal as command lines: what a user would type for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from playrunner.frozen import frozen
from playrunner.training.rehearsal.stories import Story


@frozen
class Stage:
    """One command, and what it must show beside exit code 0."""

    name: str
    title: str
    words: tuple[str, ...]
    unchanged: bool = False  # it must find nothing to do
    deletes: bool = False


def stages_of(story: Story, steps: int, own: dict[str, Any], keep: bool) -> list[Stage]:
    """`own` are variables that the sandbox's inventory would hide: the guide's region, say."""
    variables = {**own, **story.variables, "train_rehearsal_steps": steps}
    where = ("--inventory", story.inventory, "--inventory", "local")
    given = ("--extra-vars", json.dumps(variables))
    play = ("play", f"playbooks/{story.playbook}.yaml", *where, *given, "--yes")
    check = ("train.check", "--profile", story.profile, "--inventory", story.inventory)
    stages = [
        Stage(
            "check",
            "the profile on the guide's machines",
            (*check, "--nodes", str(story.nodes), *_given(story.variables)),
        ),
        Stage("play", "network, cluster, storage, add-ons, data and training", play),
        *(
            Stage(f"look {run}", "the run that is over", ("train.status", "--name", run, *where))
            for run in story.runs
        ),
        Stage("again", "a second run finds nothing to do", play, unchanged=True),
    ]
    if keep:
        return stages
    empty = ("--extra-vars", "bucket_empty_on_delete=true")
    return [
        *stages,
        Stage(
            "teardown",
            "everything goes",
            ("teardown", *where, *given, *empty, "--with-kept", "--yes"),
            deletes=True,
        ),
        Stage("audit", "nothing is left", ("audit", *where, *given), deletes=True),
    ]


def typed(program: str, words: Sequence[str]) -> str:
    """A command as a user types it."""
    return " ".join([program, *(f"'{word}'" if " " in word else word for word in words)])


def _given(variables: Any) -> tuple[str, ...]:
    return ("--extra-vars", json.dumps(dict(variables))) if variables else ()
