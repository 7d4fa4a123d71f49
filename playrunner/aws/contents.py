"""How much is in what holds data, as plans and lists show it; empty for what is known to be
empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playrunner.aws.client import Aws

MOST_COUNTED = 1000  # a bucket of millions is not listed only to be described
EMPTY_EFS_BYTES = 6144  # what EFS meters for a file system without files
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def bucket(aws: Aws, name: str) -> str:
    """The objects of a bucket and their earlier versions; unfinished uploads do not count, as in
    S3."""
    listing = (
        aws.read(
            "s3",
            "list_object_versions",
            ("NoSuchBucket",),
            Bucket=name,
            PaginationConfig={"MaxItems": MOST_COUNTED},
        )
        or {}
    )
    versions = listing.get("Versions") or ()
    count = len(versions) + len(listing.get("DeleteMarkers") or ())
    return _counted(
        count, "object", sum(int(version.get("Size") or 0) for version in versions), MOST_COUNTED
    )


def repository(aws: Aws, name: str) -> str:
    answer = (
        aws.read("ecr", "describe_images", ("RepositoryNotFoundException",), repositoryName=name)
        or {}
    )
    images = answer.get("imageDetails") or ()
    total = sum(int(image.get("imageSizeInBytes") or 0) for image in images)
    return _counted(len(images), "image", total)


def elastic_file_system(raw: Mapping[str, Any]) -> str:
    """EFS meters what is in it about once an hour."""
    metered = int((raw.get("SizeInBytes") or {}).get("Value") or 0)
    return f"holds {spelled(metered)}" if metered else ""


def lustre(raw: Mapping[str, Any]) -> str:
    """FSx tells what is used to CloudWatch only."""
    return f"holds up to {raw['StorageCapacity']} GiB" if raw.get("StorageCapacity") else ""


def spelled(count: float) -> str:
    """6144 as 6.0 KiB."""
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def _counted(count: int, what: str, total: int, most: int = 0) -> str:
    if not count:
        return ""
    more = "at least " if most and count >= most else ""
    return f"holds {more}{count} {what}{'s' * (count != 1)} ({spelled(total)})"
