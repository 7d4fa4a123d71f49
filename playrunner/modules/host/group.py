"""host.group: a group of users."""

from __future__ import annotations

from playrunner.hostside.module import Module
from playrunner.modules.host._accounts import run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Group(Module):
    """A group of users."""

    name: str  # the group
    gid: int | None = None  # its number
    state: Literal["present", "absent"] = "present"  # whether it should exist
    system: bool = False  # give a new group a number from the system's range
    non_unique: bool = False  # the number may belong to another group too

    def observe(self, ctx: HostContext) -> State | None:
        import grp

        try:
            return {"gid": grp.getgrnam(self.name).gr_gid}
        except KeyError:
            return None

    def desired(self, ctx: HostContext, found: State | None) -> State | None:
        if self.state == "absent":
            return None
        return {} if self.gid is None else {"gid": self.gid}

    def apply(self, ctx: HostContext, change: Change) -> None:
        if change.after is None:
            run_tool(ctx, ["groupdel", self.name])
            return
        gid = change.after.get("gid")
        words = [] if gid is None else ["-g", str(gid), *(["-o"] if self.non_unique else [])]
        if change.before is None:
            run_tool(ctx, ["groupadd", *words, *(["-r"] if self.system else []), self.name])
        else:
            run_tool(ctx, ["groupmod", *words, self.name])

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        found = self.observe(ctx) if self.state == "present" else None
        return {
            "name": self.name,
            "state": self.state,
            **({**found, "system": self.system} if found else {}),
        }
