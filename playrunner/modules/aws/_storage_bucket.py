"""Emptying a bucket: its objects, their earlier versions and unfinished uploads, in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.hostside.module import Failed

if TYPE_CHECKING:
    from playrunner.run.context import Context

_BATCH = 1000  # as many as one call takes


def empty(ctx: Context, bucket: str) -> None:
    """Delete all that is in a bucket; what is done stays done when this ends early."""
    while versions := _versions(ctx, bucket):
        for start in range(0, len(versions), _BATCH):
            answer = ctx.aws.call(
                "s3",
                "delete_objects",
                Bucket=bucket,
                Delete={"Objects": versions[start : start + _BATCH], "Quiet": True},
            )
            for problem in answer.get("Errors") or ():
                raise Failed(
                    f"s3://{bucket}/{problem.get('Key')} could not be deleted:"
                    f" {problem.get('Message')}"
                )
    for upload in ctx.aws.read("s3", "list_multipart_uploads", Bucket=bucket).get("Uploads") or ():
        ctx.aws.call(
            "s3",
            "abort_multipart_upload",
            Bucket=bucket,
            Key=upload["Key"],
            UploadId=upload["UploadId"],
        )


def holds_something(ctx: Context, bucket: str) -> bool:
    """Whether there is an object, or an earlier version of one; unfinished uploads do not count, as
    in S3."""
    return bool(_versions(ctx, bucket))


def _versions(ctx: Context, bucket: str) -> list[dict[str, str]]:
    """Some of what is there: a bucket of millions is not held in memory."""
    listing = (
        ctx.aws.read(
            "s3",
            "list_object_versions",
            ("NoSuchBucket",),
            Bucket=bucket,
            PaginationConfig={"MaxItems": _BATCH},
        )
        or {}
    )
    return [
        {"Key": version["Key"], "VersionId": version["VersionId"]}
        for kind in ("Versions", "DeleteMarkers")
        for version in listing.get(kind) or ()
    ]
