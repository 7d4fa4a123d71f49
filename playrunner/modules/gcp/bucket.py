"""gcp.bucket: a Cloud Storage bucket that only the project can read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from playrunner.cloud.resource import HoldsData, Refused
from playrunner.hostside.module import Failed
from playrunner.hostside.state import Change, State
from playrunner.modules.gcp._base import GcpModule, with_marks

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Bucket(GcpModule):
    """A bucket. Bucket names are unique in all of Google Cloud, so it may be taken."""

    name: str  # small letters, digits, dots, dashes and underscores
    location: str = ""  # a region, or US, EU, ASIA; by default the inventory's region; fixed
    # Of objects that do not say: STANDARD, NEARLINE, COLDLINE, ARCHIVE
    storage_class: str = "STANDARD"
    private: bool = True  # access by the bucket's own rights alone, and never for the public
    versioning: bool | None = None  # keep earlier versions of objects; not spoken of when not given
    labels: dict[str, str] = {}  # more labels, beside the owner's
    # When it is deleted, all that is in it goes with it; otherwise only an empty one is deleted
    empty_on_delete: bool = False

    def observe(self, ctx: Context) -> State | None:
        try:
            bucket = ctx.gcp.read("storage", f"b/{self.name}")
        except Refused as refusal:
            if refusal.code != "PERMISSION_DENIED":
                raise
            raise Failed(
                f"gs://{self.name} belongs to another project, or these credentials may not look at"
                " it; bucket names are taken for all of Google Cloud, so ours may need another"
            ) from None
        return _observed(bucket) if bucket else None

    def desired(self, ctx: Context, current: State | None) -> State:
        location = (self.location or ctx.gcp.region).upper()
        if current is not None and current["location"] != location:
            raise Failed(
                f"gs://{self.name} is in {current['location']} and cannot move to {location}; give"
                " the new one another name, or delete this one first"
            )
        wanted: State = {
            "location": location,
            "storageClass": self.storage_class,
            "labels": dict(self.labels),
            "private": self.private,
        }
        return wanted if self.versioning is None else {**wanted, "versioned": self.versioning}

    def apply(self, ctx: Context, change: Change) -> None:
        if change.removes:
            self._remove(ctx)
            return
        wanted = change.after or {}
        body: State = {
            "storageClass": wanted["storageClass"],
            "labels": with_marks(ctx, change, "labels"),
            "iamConfiguration": {
                "uniformBucketLevelAccess": {"enabled": wanted["private"]},
                "publicAccessPrevention": "enforced" if wanted["private"] else "inherited",
            },
        }
        if "versioned" in wanted:
            body["versioning"] = {"enabled": wanted["versioned"]}
        if change.creates:
            made = {"name": self.name, "location": wanted["location"], **body}
            ctx.gcp.call("POST", "storage", "b", made, project=ctx.gcp.project)
        else:
            ctx.gcp.call("PATCH", "storage", f"b/{self.name}", body)

    def label(self, state: State) -> str:
        return f"gs://{self.name}"

    def _remove(self, ctx: Context) -> None:
        inside = ctx.gcp.listing("storage", f"b/{self.name}/o", "items", versions="true")
        if inside and not self.empty_on_delete:
            raise HoldsData(
                f"gs://{self.name} is not empty; empty it, or set empty_on_delete: true to delete"
                " what is in it"
            )
        for blob in inside:
            try:
                ctx.gcp.call(
                    "DELETE",
                    "storage",
                    f"b/{self.name}/o/{quote(blob['name'], safe='')}",
                    generation=blob["generation"],
                )
            except Refused as refusal:
                if not refusal.not_found:
                    raise
        ctx.gcp.call("DELETE", "storage", f"b/{self.name}")


def _observed(bucket: State) -> State:
    access = bucket.get("iamConfiguration") or {}
    uniform = bool((access.get("uniformBucketLevelAccess") or {}).get("enabled"))
    return {
        **bucket,
        "private": uniform and access.get("publicAccessPrevention") == "enforced",
        "labels": bucket.get("labels") or {},
        "versioned": bool((bucket.get("versioning") or {}).get("enabled")),
    }
