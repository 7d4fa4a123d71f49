"""play.include_tasks: steps from another file, read when this step runs."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.module import Probe


class IncludeTasks(Probe):
    """Steps from another file, read when this step runs."""

    in_memory = True
    raw = ("apply",)  # keywords of the steps, rendered when those run
    free_form = "file"
    aliases = {"_raw_params": "file"}

    file: str  # the file, looked for beside this one and in the role's tasks
    apply: Any = None  # keywords for every step that comes in
