"""S3 buckets tagged as ours; what they hold goes with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from playrunner.aws import contents
from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud.owner import CLUSTER
from playrunner.cloud.resource import Refused
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource

_GONE = ("NoSuchBucket",)
_UNTAGGED = ("NoSuchTagSet", *_GONE)
AT_ONCE = 1000  # as many as one call deletes


class Bucket(Kind):
    """A bucket. S3 does not tell its size cheaply, so it is not priced."""

    name, service, arn = "S3 bucket", "s3", "s3:bucket"
    gone_seconds = 1800  # a training run's checkpoints are many objects

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        marked = {arn.rpartition(":")[2] for arn in stacks.marked_arns(self.arn)}
        for raw in listed(aws, "s3", "list_buckets", "Buckets"):
            name = str(raw["Name"])
            if name in marked or stacks.blind or name.startswith(tuple(stacks.names)):
                answer = aws.read("s3", "get_bucket_tagging", missing=_UNTAGGED, Bucket=name) or {}
                tags = plain(answer.get("TagSet"))
                if CLUSTER in tags and (name in marked or _region(aws, name) == aws.region):
                    yield thing_of(raw, name, name=name, tags=tags, monthly_dollars=None)

    def contents(self, aws: Aws, thing: ServiceResource) -> str:
        return contents.bucket(aws, thing.id)

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        found = aws.read(
            "s3", "get_bucket_location", missing=_GONE, Bucket=leftover.id
        )  # a HEAD would not tell its errors
        return None if found is None else ServiceResource(leftover.id)

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        for upload in listed(
            aws, "s3", "list_multipart_uploads", "Uploads", missing=_GONE, Bucket=thing.id
        ):
            aws.call(
                "s3",
                "abort_multipart_upload",
                Bucket=thing.id,
                Key=upload["Key"],
                UploadId=upload["UploadId"],
            )
        found = aws.read("s3", "list_object_versions", missing=_GONE, Bucket=thing.id) or {}
        every = [
            {"Key": one["Key"], "VersionId": one["VersionId"]}
            for kind in ("Versions", "DeleteMarkers")
            for one in found.get(kind) or ()
        ]
        for start in range(0, len(every), AT_ONCE):
            _delete_objects(aws, thing.id, every[start : start + AT_ONCE])
        aws.call("s3", "delete_bucket", Bucket=thing.id)


def _region(aws: Aws, name: str) -> str:
    """Buckets of all regions are in one list."""
    found = aws.read("s3", "get_bucket_location", missing=_GONE, Bucket=name) or {}
    return str(found.get("LocationConstraint") or "us-east-1")


def _delete_objects(aws: Aws, bucket: str, objects: list[dict[str, Any]]) -> None:
    answer = aws.call(
        "s3", "delete_objects", Bucket=bucket, Delete={"Objects": objects, "Quiet": True}
    )
    for refused in answer.get("Errors") or ():
        raise Refused(
            f"s3.delete_objects: {refused['Code']}: {refused.get('Message', '')}"
            f" ({refused.get('Key')})",
            str(refused["Code"]),
        )


KINDS: tuple[type[Kind], ...] = (Bucket,)
