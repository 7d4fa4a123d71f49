"""rehearse: a guide's whole story on the sandbox."""

from __future__ import annotations

from typing import Any

from playrunner.commands.flags import options_from, pick, positional_if_given, verb


@verb(
    flags=pick("check", "json"),
    positional=positional_if_given("rehearse", "story"),
    help={
        "story": "which one (default: list them)",
        "steps": "how many steps to train",
        "keep": "leave the cluster as it is, to look at it",
    },
)
def rehearse(
    context: Any,
    flags: dict[str, Any],
    story: str | None = None,
    steps: int = 4,
    keep: bool = False,
) -> int:
    """Rehearse a guide from an empty account to teardown, with its own profile and nodes."""
    from playrunner.training.rehearsal.rehearse import list_stories
    from playrunner.training.rehearsal.rehearse import rehearse as run

    options = options_from(flags)
    return run(story, options, steps, keep) if story else list_stories(options)
