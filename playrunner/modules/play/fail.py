"""play.fail: stop this host here, and say why."""

from __future__ import annotations

from typing import Any

from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context


class Fail(Probe):
    """Stop this host here, and say why."""

    in_memory = True

    msg: str = "Failed as requested from task"  # the reason

    def look(self, ctx: Context) -> dict[str, Any]:
        raise Failed(self.msg)
