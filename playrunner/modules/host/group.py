"""host.group: a group of users."""

from __future__ import annotations

from playrunner.hostside.module import Module
from playrunner.modules.host._accounts import run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import Change, State


class Group(Module):
    """A group of users."""

    name: str  # the group
    gid: int | None = None  # its number
    state: Literal["present", "absent"] = "present"  # whether it should exist
    system: bool = False  # give a new group a number from the system's range
    non_unique: bool = False  # the number may belong to another group too
    force: bool = False  # with absent, also when it is the first group of a user
    local: bool = False  # use libuser's tools, where groups come from a directory service too
    gid_min: int | None = None  # the least number for a new group
    gid_max: int | None = None  # the highest number for a new group

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> Optional[str]:
        if arguments.get("non_unique") and arguments.get("gid") is None:
            return "non_unique is True but all of the following are missing: gid"
        return None

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
            forced = ["-f"] if self.force and not self.local else []
            run_tool(ctx, [self._tool("groupdel"), *forced, self.name])
            return
        gid = change.after.get("gid")
        words = [] if gid is None else ["-g", str(gid), *(["-o"] if self.non_unique else [])]
        if change.before is None:
            words += ["-r"] if self.system else []
            for name, value in (("GID_MIN", self.gid_min), ("GID_MAX", self.gid_max)):
                words += ["-K", f"{name}={value}"] if value is not None else []
            run_tool(ctx, [self._tool("groupadd"), *words, self.name])
        else:
            run_tool(ctx, [self._tool("groupmod"), *words, self.name])

    def _tool(self, name: str) -> str:
        return f"l{name}" if self.local else name

    def returns(self, ctx: HostContext, change: Change) -> dict[str, Any]:
        found = self.observe(ctx) if self.state == "present" else None
        return {
            "name": self.name,
            "state": self.state,
            **({**found, "system": self.system} if found else {}),
        }
