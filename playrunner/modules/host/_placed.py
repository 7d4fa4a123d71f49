"""Placed: the arguments that all modules share which write something at a path."""

from __future__ import annotations

from playrunner.hostside.module import Module
from playrunner.modules.host._labels import PARTS, Labels
from playrunner.modules.host._owners import group_id, group_name, user_id, user_name
from playrunner.modules.host._paths import mode_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from playrunner.hostside.host_context import HostContext
    from playrunner.hostside.state import State


class Placed(Module):
    """The arguments shared by all modules that write something at a path."""

    mode: Any = None  # as 0644, "0644" or "u=rw,go=r"; left alone when not given
    owner: Any = None  # a user's name or number
    group: Any = None  # a group's name or number
    # Write in place where the path cannot be replaced, as with a bind-mounted file
    unsafe_writes: bool = False
    attributes: str | None = None  # flags as chattr takes them, such as +i
    seuser: str | None = None  # the user of its SELinux context; _default is the policy's
    serole: str | None = None  # the role of its SELinux context
    setype: str | None = None  # the type of its SELinux context
    selevel: str | None = None  # the level of its SELinux context

    def __init_subclass__(cls) -> None:
        cls.aliases = {"attr": "attributes", **cls.aliases}

    def access_state(self, ctx: HostContext, current: Optional[State], kind: str = "file") -> State:
        """The desired mode, owner, group, flags and SELinux context."""
        return {**mode_state(self.mode, current, kind), **self.owner_state(ctx, current)}

    def owner_state(self, ctx: HostContext, current: Optional[State]) -> State:
        target: State = {}
        # Under --check an earlier step may be the one that makes the user; what is not there yet
        # cannot tell.
        later = ctx.check and current is None
        if self.owner is not None:
            target["owner"] = str(self.owner) if later else user_name(user_id(self.owner))
        if self.group is not None:
            target["group"] = str(self.group) if later else group_name(group_id(self.group))
        labels = self.labels()
        if labels:
            path = getattr(current, "path", "")
            if current is not None and path:
                current.update(labels.observed(ctx, path))
            target.update(labels.wanted(ctx, path, current or {}))
        return target

    def labels(self) -> Labels:
        return Labels(self.attributes, {name: getattr(self, name) for name in PARTS})
