"""train: judge a profile before anything is made or launched."""

from __future__ import annotations

import sys
from typing import Any

from playrunner.commands.flags import options_from, verb
from playrunner.training.verbs.flags import LAUNCH, LOOK


@verb(
    flags={
        **{name: LOOK[name] for name in ("inventory", "json")},
        **{name: LAUNCH[name] for name in ("extra-vars", "set")},
    },
    help={
        "profile": "a profile of trainer/profiles, or a YAML file",
        "nodes": "only this number of nodes (default: every number that the profile allows)",
    },
)
def check(context: Any, flags: dict[str, Any], profile: str = "", nodes: int = 0) -> int:
    """Judge a profile: sizes, batches, schedule, data, precision and memory; touches nothing."""
    from playrunner.output.json_output import print_json
    from playrunner.text.streams import visible
    from playrunner.training.profile_check.judgement import check_profile
    from playrunner.training.request import Request

    settings = tuple(flags.pop("set"))
    options = options_from(flags)
    request = Request(profile, nodes=nodes, overrides=settings)
    code, described, lines = check_profile(request, options)
    if options.json:
        print_json(described)
    else:
        sys.stdout.write(visible(lines) + "\n")
    return code
