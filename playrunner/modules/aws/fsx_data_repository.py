"""aws.fsx_data_repository: a folder of a Lustre file system that shows what is in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from playrunner.aws.tags import named, spelled
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._base import AwsModule
from playrunner.modules.aws._storage import life_cycle, refuse_changes

if TYPE_CHECKING:
    from playrunner.run.context import Context

Event = Literal["NEW", "CHANGED", "DELETED"]


class FsxDataRepository(AwsModule):
    """A data repository association: for every deployment but SCRATCH_1. Deleting it leaves the
    bucket and the files as they are."""

    can_double: ClassVar[bool] = True
    settle_seconds: ClassVar[float] = 1800

    name: str  # its Name tag; one of this name per cluster
    file_system: str  # the file system's id
    bucket: str  # s3://bucket/prefix; fixed at creation
    path: str = "/"  # the folder that shows it; no two of a file system may overlap
    import_events: list[Event] = ["NEW", "CHANGED", "DELETED"]  # of objects, that change files
    export_events: list[Event] = []  # of files, that change objects
    # Whether the names of all objects are read at once, not when a folder is first looked at
    read_names: bool = True

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        bucket = str(arguments.get("bucket") or "s3://")
        return (
            None
            if bucket.startswith(("s3://", "{{"))
            else "bucket is s3://NAME or s3://NAME/PREFIX"
        )

    def observe(self, ctx: Context) -> State | None:
        links = ctx.aws.read("fsx", "describe_data_repository_associations")["Associations"]
        return named((link for link in links if self.ours(ctx, link)), self.name)

    def desired(self, ctx: Context, current: State | None) -> State:
        fixed = {
            "FileSystemId": self.file_system,
            "FileSystemPath": self.path,
            "DataRepositoryPath": self.bucket,
        }
        refuse_changes(f"the data repository {self.name}", current, fixed)
        return {
            **fixed,
            "S3": {
                "AutoImportPolicy": {"Events": list(self.import_events)},
                "AutoExportPolicy": {"Events": list(self.export_events)},
            },
        }

    def apply(self, ctx: Context, change: Change) -> None:
        wanted = change.after or {}
        if change.creates:
            ctx.aws.call(
                "fsx",
                "create_data_repository_association",
                token="ClientRequestToken",
                BatchImportMetaDataOnCreate=self.read_names,
                Tags=spelled(ctx.owner.tags(self.name)),
                **wanted,
            )
        elif change.removes:
            ctx.aws.call(
                "fsx",
                "delete_data_repository_association",
                AssociationId=self.label(change.observed or {}),
                DeleteDataInFileSystem=False,
            )
        else:
            ctx.aws.call(
                "fsx",
                "update_data_repository_association",
                token="ClientRequestToken",
                AssociationId=self.label(change.observed or {}),
                S3=wanted["S3"],
            )

    def moving(self, state: State) -> str | None:
        return life_cycle(state, "Lifecycle")

    def broken(self, state: State) -> str | None:
        if state["Lifecycle"] not in ("FAILED", "MISCONFIGURED"):
            return None
        reason = (state.get("FailureDetails") or {}).get("Message") or "the service gives no reason"
        return f"the data repository {self.name} is {state['Lifecycle']}: {reason}"

    def label(self, state: State) -> str:
        return str(state["AssociationId"])
