"""aws.efs_mount_target: the address of a file system in one zone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule
from playrunner.modules.aws._storage import life_cycle

if TYPE_CHECKING:
    from playrunner.run.context import Context

SHOWN_SECONDS = 60.0  # a file system that was just made shows within seconds in every answer


class EfsMountTarget(AwsModule):
    """Where the nodes of a zone mount a file system; a zone can have only one."""

    identity: ClassVar[tuple[str, ...]] = ("file_system", "subnet")
    settle_seconds: ClassVar[float] = 900

    file_system: str  # its id
    subnet: str  # its id: one subnet per zone
    security_groups: list[str] | None = None  # up to five ids; they let NFS (TCP 2049) in

    def observe(self, ctx: Context) -> State | None:
        targets = ctx.aws.read(
            "efs", "describe_mount_targets", ("FileSystemNotFound",), FileSystemId=self.file_system
        )
        target = next(
            (
                candidate
                for candidate in (targets or {"MountTargets": ()})["MountTargets"]
                if candidate["SubnetId"] == self.subnet
            ),
            None,
        )
        if target is None or target["LifeCycleState"] == "deleted":
            return None
        state = {**target, "Tags": self._owner_tags(ctx)}
        if self.security_groups is not None and not self.moving(target):
            state["SecurityGroups"] = _groups(ctx, targets["MountTargets"], target)
        return state

    def desired(self, ctx: Context, current: State | None) -> State:
        wanted: State = {"FileSystemId": self.file_system, "SubnetId": self.subnet}
        return (
            wanted
            if self.security_groups is None
            else {**wanted, "SecurityGroups": sorted(self.security_groups)}
        )

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            if not self.moving(change.observed or {}):
                ctx.aws.call(
                    "efs", "delete_mount_target", MountTargetId=self.label(change.observed or {})
                )
        elif change.creates:
            self._refuse_second(ctx)
            ctx.aws.call("efs", "create_mount_target", **(change.after or {}))
        else:
            ctx.aws.call(
                "efs",
                "modify_mount_target_security_groups",
                MountTargetId=self.label(change.observed or {}),
                SecurityGroups=(change.after or {})["SecurityGroups"],
            )

    def moving(self, state: State) -> str | None:
        return life_cycle(state, "LifeCycleState")

    def broken(self, state: State) -> str | None:
        return (
            f"the mount target {self.label(state)} is in an error state"
            if state["LifeCycleState"] == "error"
            else None
        )

    def label(self, state: State) -> str:
        return str(state["MountTargetId"])

    def _refuse_second(self, ctx: Context) -> None:
        """The service's own words for two in a zone are those for one that is there already."""
        others = ctx.aws.read("efs", "describe_mount_targets", FileSystemId=self.file_system)[
            "MountTargets"
        ]
        if not others:
            return
        zone = ctx.aws.read("ec2", "describe_subnets", SubnetIds=[self.subnet])["Subnets"][0][
            "AvailabilityZone"
        ]
        for other in others:
            if other.get("AvailabilityZoneName") == zone and other["SubnetId"] != self.subnet:
                raise Failed(
                    f"{self.file_system} has a mount target in {zone} already, in"
                    f" {other['SubnetId']}: one per zone is enough for all of its subnets"
                )

    def _owner_tags(self, ctx: Context) -> Any:
        """A mount target has no tags: it belongs to whom its file system belongs, which is there as
        long as it has mount targets, though a late answer may not show it."""
        deadline = time.monotonic() + SHOWN_SECONDS
        while True:
            everything = ctx.aws.read("efs", "describe_file_systems")["FileSystems"]
            for file_system in everything:
                if file_system["FileSystemId"] == self.file_system:
                    return file_system["Tags"]
            if time.monotonic() > deadline:
                raise Failed(
                    f"{self.file_system} has mount targets, but the service does not show it"
                )
            ctx.progress(f"waiting until {self.file_system} shows")
            ctx.sleep(1.0)
            ctx.refresh()


def _groups(ctx: Context, targets: list[State], target: State) -> list[str]:
    """From its interface: one read tells the groups of all targets of a file system."""
    numbers = sorted(
        str(interface["NetworkInterfaceId"])
        for interface in targets
        if interface.get("NetworkInterfaceId")
    )
    interfaces = ctx.aws.read(
        "ec2",
        "describe_network_interfaces",
        Filters=[{"Name": "network-interface-id", "Values": numbers}],
    )["NetworkInterfaces"]
    mine = next(
        (
            interface
            for interface in interfaces
            if interface["NetworkInterfaceId"] == target.get("NetworkInterfaceId")
        ),
        {"Groups": ()},
    )
    return sorted(str(group["GroupId"]) for group in mine["Groups"])
