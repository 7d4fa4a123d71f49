"""aws.efs_access_point: a folder of a file system, entered as a fixed user."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from playrunner.aws.tags import named, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule
from playrunner.modules.aws._storage import life_cycle, refuse_changes

if TYPE_CHECKING:
    from playrunner.run.context import Context


class EfsAccessPoint(AwsModule):
    """A way into a file system that makes every client the same user in the same folder; nothing of
    it can be changed later."""

    can_double: ClassVar[bool] = True

    name: str  # its Name tag; one of this name per cluster
    file_system: str  # the file system's id
    path: str = "/"  # the folder that clients see as the root
    uid: int = 1000  # the user that every client is
    gid: int = 1000  # and the group
    # Of the folder, when it has to be made; it then belongs to uid and gid
    permissions: str = "0755"

    def observe(self, ctx: Context) -> State | None:
        points = ctx.aws.read("efs", "describe_access_points")["AccessPoints"]
        return named(
            (
                point
                for point in points
                if self.ours(ctx, point) and point.get("LifeCycleState") != "deleted"
            ),
            self.name,
        )

    def desired(self, ctx: Context, current: State | None) -> State:
        made = {"OwnerUid": self.uid, "OwnerGid": self.gid, "Permissions": self.permissions}
        root = (
            {"Path": self.path} if self.path == "/" else {"Path": self.path, "CreationInfo": made}
        )
        wanted = {
            "FileSystemId": self.file_system,
            "PosixUser": {"Uid": self.uid, "Gid": self.gid},
            "RootDirectory": root,
        }
        refuse_changes(f"the access point {self.name}", current, wanted)
        return wanted

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            ctx.aws.call(
                "efs", "delete_access_point", AccessPointId=self.label(change.observed or {})
            )
        else:
            ctx.aws.call(
                "efs",
                "create_access_point",
                token="ClientToken",
                Tags=spelled(ctx.owner.tags(self.name)),
                **(change.after or {}),
            )

    def moving(self, state: State) -> str | None:
        return life_cycle(state, "LifeCycleState")

    def broken(self, state: State) -> str | None:
        return (
            f"the access point {self.name} is in an error state"
            if state.get("LifeCycleState") == "error"
            else None
        )

    def label(self, state: State) -> str:
        return str(state["AccessPointId"])
