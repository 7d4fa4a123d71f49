"""play.include_role: the steps of a role, read when this step runs."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.module import Probe


class IncludeRole(Probe):
    """The steps of a role, read when this step runs."""

    in_memory = True
    aliases = {"role": "name"}
    raw = ("apply",)  # keywords of the steps, rendered when those run

    name: str  # the role
    tasks_from: str | None = None  # another file than main under tasks/
    vars_from: str | None = None  # another file than main under vars/
    defaults_from: str | None = None  # another file than main under defaults/
    handlers_from: str | None = None  # another file than main under handlers/
    allow_duplicates: bool = True  # run it again though it ran before
    public: bool = False  # its variables stay visible after it
    apply: Any = None  # keywords for every step that comes in
    # Check its variables against meta/argument_specs.yml before its first step
    rolespec_validate: bool = True
