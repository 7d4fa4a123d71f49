"""play.meta: commands for the runner itself: flush_handlers, end_play, end_host, ..."""

from __future__ import annotations

from typing import Literal

from playrunner.hostside.module import Probe


class Meta(Probe):
    """Commands for the runner itself; no host is touched."""

    in_memory = True
    free_form = "action"

    action: Literal[
        "flush_handlers",
        "end_play",
        "end_batch",
        "end_host",
        "clear_facts",
        "clear_host_errors",
        "refresh_inventory",
        "reset_connection",
        "noop",
        "end_role",
    ]  # what to do
