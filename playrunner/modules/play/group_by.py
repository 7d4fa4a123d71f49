"""play.group_by: hosts put into groups by a value of theirs, for the plays that follow."""

from __future__ import annotations

import re
from typing import Any

from playrunner.hostside.module import Failed, Probe
from playrunner.run.context import Context

_NOT_IN_A_NAME = re.compile(r"[\x00-\x1f\x7f,:!&*?\[\]~/]")


class GroupBy(Probe):
    """Hosts put into groups by a value of theirs, for the plays that follow."""

    key: str  # the group's name, usually with a template in it
    parents: list[str] = ["all"]  # groups it belongs to

    def look(self, ctx: Context) -> dict[str, Any]:
        group = self.key.replace(" ", "-")
        for name in (group, *self.parents):
            if _NOT_IN_A_NAME.search(name):
                raise Failed(
                    f"{name!r:.80} cannot be the name of a group: it would be read as a pattern of"
                    " hosts"
                )
        new = ctx.host not in ctx.inventory.groups.get(group, ())
        ctx.inventory.add_to_group(
            ctx.host, group, [parent.replace(" ", "-") for parent in self.parents]
        )
        return {"changed": new, "add_group": group, "parent_groups": self.parents}
