"""aws.fsx_lustre: a Lustre file system in one subnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.aws import contents
from playrunner.aws.tags import named, spelled
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._keep import KeptModule
from playrunner.modules.aws._storage import given, life_cycle, refuse_changes
from playrunner.modules.aws._storage_lustre import complaint

if TYPE_CHECKING:
    from playrunner.run.context import Context

_BROKEN = ("FAILED", "MISCONFIGURED", "MISCONFIGURED_UNAVAILABLE")


class FsxLustre(KeptModule):
    """A fast file system for many nodes; it can grow where it is, and never shrink."""

    can_double: ClassVar[bool] = True
    settle_seconds: ClassVar[float] = 2400

    name: str  # its Name tag; one of this name per cluster
    subnet: str  # the id of the one subnet it is in; best that of the nodes
    capacity_gib: int  # 1200, 2400 or a multiple of 2400 (SCRATCH_1: 3600; HDD: 6000 or 1800)
    security_groups: list[
        str
    ] = []  # ids; they let Lustre (TCP 988, 1018-1023) in; fixed at creation
    # Fixed at creation
    deployment: Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"] = "PERSISTENT_1"
    storage: Literal["SSD", "HDD"] = "SSD"  # fixed at creation
    # HDD only, and needed there: NONE, or READ for an SSD cache of what is read; fixed at creation
    drive_cache: Literal["NONE", "READ"] | None = None
    # MB/s: 50, 100, 200 (PERSISTENT_1); 125, 250, 500, 1000 (PERSISTENT_2); 12, 40 (HDD)
    throughput_per_tib: int | None = None
    version: str | None = None  # of Lustre: 2.10, 2.12 or 2.15; fixed here
    compression: Literal["NONE", "LZ4"] | None = None  # of data written from now on
    # When AWS may restart it, UTC: "7:09:00" is Sunday (7) at 09:00
    maintenance_time: str | None = None
    backup_days: int | None = None  # how long daily backups are kept; 0: none are made
    backup_time: str | None = None  # when the daily backup starts, UTC, as "00:00"
    # Whether backups carry its tags, our tag among them; fixed at creation
    tags_on_backups: bool | None = None
    import_path: str | None = None  # s3://bucket/prefix that shows as files; fixed at creation
    # s3://bucket/prefix of the same bucket, where changed files can be written to
    export_path: str | None = None
    # The key to encrypt with; the account's own for FSx when not given; fixed at creation
    kms_key: str | None = None

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        """Sizes and speeds that do not exist."""
        whole = (
            "name" in arguments and "capacity_gib" in arguments
        )  # one that is only looked for may be known in part
        return complaint(arguments) if whole else None

    def observe(self, ctx: Context) -> State | None:
        everything = ctx.aws.read("fsx", "describe_file_systems")["FileSystems"]
        ours = [
            file_system
            for file_system in everything
            if file_system["FileSystemType"] == "LUSTRE" and self.ours(ctx, file_system)
        ]
        # One that is being deleted does not block a new one of its name.
        current = named(
            (file_system for file_system in ours if file_system["Lifecycle"] != "DELETING"),
            self.name,
        ) or named(ours, self.name)
        return None if current is None else self.with_keep(current)

    def desired(self, ctx: Context, current: State | None) -> State:
        fixed = given(
            SubnetIds=[self.subnet], StorageType=self.storage, FileSystemTypeVersion=self.version
        )
        lustre = given(
            DeploymentType=self.deployment,
            CopyTagsToBackups=self.tags_on_backups,
            DriveCacheType=self.drive_cache,
        )
        data = given(ImportPath=self.import_path, ExportPath=self.export_path)
        if data:
            lustre["DataRepositoryConfiguration"] = data
        what = f"the file system {self.name}"
        refuse_changes(what, current, {**fixed, "LustreConfiguration": lustre})
        if current and current["StorageCapacity"] > self.capacity_gib:
            raise Failed(
                f"{what} has {current['StorageCapacity']} GiB, and cannot shrink to"
                f" {self.capacity_gib}"
            )
        lustre |= given(
            PerUnitStorageThroughput=self.throughput_per_tib,
            DataCompressionType=self.compression,
            WeeklyMaintenanceStartTime=self.maintenance_time,
            AutomaticBackupRetentionDays=self.backup_days,
            DailyAutomaticBackupStartTime=self.backup_time,
        )
        return {
            **fixed,
            "StorageCapacity": self.capacity_gib,
            "LustreConfiguration": lustre,
            "Keep": ctx.owner.keep,
        }

    def apply(self, ctx: Context, change: Change) -> None:
        if change.creates:
            wanted = dict(change.after or {})
            wanted.pop("Keep", None)  # among the tags
            lustre = dict(wanted["LustreConfiguration"])
            lustre |= lustre.pop("DataRepositoryConfiguration", {})
            ctx.aws.call(
                "fsx",
                "create_file_system",
                token="ClientRequestToken",
                FileSystemType="LUSTRE",
                SecurityGroupIds=self.security_groups,
                Tags=spelled(ctx.owner.tags(self.name)),
                **given(KmsKeyId=self.kms_key),
                **{**wanted, "LustreConfiguration": lustre},
            )
        elif change.removes:
            if not self.moving(change.observed or {}):  # first that must end
                ctx.aws.call("fsx", "delete_file_system", FileSystemId=_id(change))
        elif change.touches(
            "StorageCapacity"
        ):  # alone: it does not grow and change its speed at once
            ctx.aws.call(
                "fsx",
                "update_file_system",
                FileSystemId=_id(change),
                StorageCapacity=self.capacity_gib,
            )
        elif change.touches("Keep"):
            self.update_keep(ctx, change)
        else:
            before, after = (
                (change.before or {})["LustreConfiguration"],
                (change.after or {})["LustreConfiguration"],
            )
            differing = {name: value for name, value in after.items() if before.get(name) != value}
            ctx.aws.call(
                "fsx", "update_file_system", FileSystemId=_id(change), LustreConfiguration=differing
            )

    def moving(self, state: State) -> str | None:
        actions = [
            action["Status"]
            for action in state.get("AdministrativeActions") or ()
            if action["AdministrativeActionType"] == "FILE_SYSTEM_UPDATE"
        ]
        return life_cycle(state, "Lifecycle") or (
            "UPDATING" if {"PENDING", "IN_PROGRESS"} & set(actions) else None
        )

    def broken(self, state: State) -> str | None:
        if state["Lifecycle"] not in _BROKEN:
            return None
        reason = (state.get("FailureDetails") or {}).get("Message") or "the service gives no reason"
        return (
            f"the file system {self.name} ({_tail(state)}) is {state['Lifecycle']}: {reason};"
            " delete it to have it created again"
        )

    def set_tag(self, ctx: Context, state: State, key: str, value: str) -> None:
        ctx.aws.call(
            "fsx", "tag_resource", ResourceARN=state["ResourceARN"], Tags=spelled({key: value})
        )

    def remove_tag(self, ctx: Context, state: State, key: str) -> None:
        ctx.aws.call("fsx", "untag_resource", ResourceARN=state["ResourceARN"], TagKeys=[key])

    def contents(self, ctx: Context, state: State) -> str:
        return contents.lustre(state)

    def label(self, state: State) -> str:
        return _tail(state)


def _tail(state: State) -> str:
    return str(state["FileSystemId"])


def _id(change: Change) -> str:
    return _tail(change.observed or {})
