"""aws.efs_filesystem: an elastic file system, encrypted; its name is its creation token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.aws import contents
from playrunner.aws.tags import spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._keep import KeptModule
from playrunner.modules.aws._storage import given, life_cycle, refuse_changes, same_key

if TYPE_CHECKING:
    from playrunner.run.context import Context

_DAYS = (1, 7, 14, 30, 60, 90, 180, 270, 365)


class EfsFilesystem(KeptModule):
    """A file system that all nodes can mount."""

    settle_seconds: ClassVar[float] = 900

    name: str  # its Name tag and creation token
    # Fixed at creation; maxIO only for thousands of clients
    performance: Literal["generalPurpose", "maxIO"] = "generalPurpose"
    # elastic: paid by what is moved
    throughput: Literal["elastic", "bursting", "provisioned"] = "elastic"
    throughput_mibps: int | None = None  # with provisioned: what is paid for
    encrypted: bool = True  # at rest; fixed at creation
    # The id or ARN of the key to encrypt with; the account's own for EFS when not given
    kms_key: str | None = None
    zone: str | None = None  # keep it in this zone only: cheaper, and gone with the zone
    # Move files not read for so long to the cheaper class, back when read; 0: never
    infrequent_after_days: int | None = None
    backup: bool | None = None  # daily by AWS Backup; not spoken of when not given

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        """What does not go together."""
        if "name" not in arguments:  # one that is only looked for may be known in part
            return None
        if (arguments.get("throughput") == "provisioned") != (
            arguments.get("throughput_mibps") is not None
        ):
            return "throughput: provisioned and throughput_mibps belong together"
        if arguments.get("infrequent_after_days") not in (None, 0, *_DAYS):
            return f"infrequent_after_days is 0 or one of {', '.join(map(str, _DAYS))}"
        if (
            arguments.get("throughput", "elastic") == "elastic"
            and arguments.get("performance") == "maxIO"
        ):
            return "performance: maxIO does not go with elastic throughput"
        return None

    def observe(self, ctx: Context) -> State | None:
        everything = ctx.aws.read("efs", "describe_file_systems")["FileSystems"]
        file_system = next(
            (candidate for candidate in everything if candidate["CreationToken"] == self.name), None
        )
        if file_system is None or file_system["LifeCycleState"] == "deleted":
            return None
        number = file_system["FileSystemId"]
        state = self.with_keep(
            {
                **file_system,
                "DNSName": f"{number}.efs.{ctx.aws.region}.{_domain(ctx.aws.region)}",
            }
        )
        if file_system["LifeCycleState"] != "available":
            return state
        if self.infrequent_after_days is not None:
            state["LifecyclePolicies"] = ctx.aws.read(
                "efs", "describe_lifecycle_configuration", FileSystemId=number
            )["LifecyclePolicies"]
        if self.backup is not None:
            policy = ctx.aws.read(
                "efs", "describe_backup_policy", ("PolicyNotFound",), FileSystemId=number
            )
            state["Backup"] = bool(policy) and policy["BackupPolicy"]["Status"] in (
                "ENABLED",
                "ENABLING",
            )
        return state

    def desired(self, ctx: Context, current: State | None) -> State:
        key = same_key((current or {}).get("KmsKeyId"), self.kms_key)
        fixed = given(
            PerformanceMode=self.performance,
            Encrypted=self.encrypted,
            KmsKeyId=key,
            AvailabilityZoneName=self.zone,
        )
        refuse_changes(f"the file system {self.name}", current, fixed)
        return {
            **fixed,
            **given(
                ThroughputMode=self.throughput,
                ProvisionedThroughputInMibps=self.throughput_mibps,
                LifecyclePolicies=self._policies(),
                Backup=self.backup,
                Keep=ctx.owner.keep,
            ),
        }

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            if not self.moving(change.observed or {}):
                self._remove(ctx, change.observed or {})
            return
        wanted = dict(change.after or {})
        policies = wanted.pop("LifecyclePolicies", None)
        wanted.pop("Keep", None)  # among the tags
        if change.creates:  # it takes no settings before it is there
            ctx.aws.call(
                "efs",
                "create_file_system",
                CreationToken=self.name,
                Tags=spelled(ctx.owner.tags(self.name)),
                **wanted,
            )
            return
        self.update_keep(ctx, change)
        if change.touches("ThroughputMode", "ProvisionedThroughputInMibps"):
            ctx.aws.call(
                "efs",
                "update_file_system",
                FileSystemId=_id(change),
                **given(
                    ThroughputMode=self.throughput,
                    ProvisionedThroughputInMibps=self.throughput_mibps,
                ),
            )
            return
        if change.touches("LifecyclePolicies"):
            ctx.aws.call(
                "efs",
                "put_lifecycle_configuration",
                FileSystemId=_id(change),
                LifecyclePolicies=policies,
            )
        if change.touches("Backup"):
            ctx.aws.call(
                "efs",
                "put_backup_policy",
                FileSystemId=_id(change),
                BackupPolicy={"Status": "ENABLED" if wanted["Backup"] else "DISABLED"},
            )

    def moving(self, state: State) -> str | None:
        return life_cycle(state, "LifeCycleState")

    def broken(self, state: State) -> str | None:
        return (
            f"the file system {self.name} is in an error state"
            if state["LifeCycleState"] == "error"
            else None
        )

    def set_tag(self, ctx: Context, state: State, key: str, value: str) -> None:
        ctx.aws.call(
            "efs", "tag_resource", ResourceId=state["FileSystemId"], Tags=spelled({key: value})
        )

    def remove_tag(self, ctx: Context, state: State, key: str) -> None:
        ctx.aws.call("efs", "untag_resource", ResourceId=state["FileSystemId"], TagKeys=[key])

    def contents(self, ctx: Context, state: State) -> str:
        return contents.elastic_file_system(state)

    def label(self, state: State) -> str:
        return str(state["FileSystemId"])

    def _remove(self, ctx: Context, current: State) -> None:
        """First the addresses that no step speaks of any more (a zone that is not declared now):
        they keep it from going."""
        targets = []
        if current["NumberOfMountTargets"]:
            targets = ctx.aws.read(
                "efs", "describe_mount_targets", FileSystemId=current["FileSystemId"]
            )["MountTargets"]
        for target in targets:
            if not life_cycle(target, "LifeCycleState"):
                ctx.aws.call("efs", "delete_mount_target", MountTargetId=target["MountTargetId"])
        if not targets:
            ctx.aws.call("efs", "delete_file_system", FileSystemId=current["FileSystemId"])

    def _policies(self) -> list[dict[str, str]] | None:
        days = self.infrequent_after_days
        if not days:
            return None if days is None else []
        return [
            {"TransitionToIA": f"AFTER_{days}_DAY{'S' if days > 1 else ''}"},
            {"TransitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
        ]


def _id(change: Change) -> str:
    return str((change.observed or {})["FileSystemId"])


def _domain(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
