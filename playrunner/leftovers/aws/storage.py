"""File systems: EFS with its mount targets and access points, and FSx for Lustre."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from playrunner.aws import contents
from playrunner.aws.client import Aws
from playrunner.aws.tags import plain
from playrunner.cloud import prices
from playrunner.cloud.owner import CLUSTER
from playrunner.leftovers.aws import interfaces
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.aws.stacks import Stacks
from playrunner.leftovers.leftover import Leftover, ServiceResource

_GONE = ("FileSystemNotFound", "MountTargetNotFound", "AccessPointNotFound")
_TARGET_OF = re.compile(r"EFS mount target for (fs-\w+) \((fsmt-\w+)\)")


class ElasticFileSystem(Kind):
    """An EFS file system; only tagged as ours, since one that is merely mounted by ours may be
    anybody's."""

    name, service, arn = "EFS file system", "efs", "elasticfilesystem:file-system"
    after: ClassVar[tuple[str, ...]] = ("EFS mount target", "EFS access point")
    gone_seconds = 600
    holds_user_data = True

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "efs", "describe_file_systems", "FileSystems"):
            if raw["LifeCycleState"] != "deleted":
                yield thing_of(
                    raw,
                    raw["FileSystemId"],
                    name=raw.get("Name") or raw.get("CreationToken") or "",
                    monthly_dollars=prices.elastic_file_system(raw),
                    deleting=raw["LifeCycleState"] == "deleting",
                )

    def contents(self, aws: Aws, thing: ServiceResource) -> str:
        return contents.elastic_file_system(thing.raw)

    def emptied(self, thing: ServiceResource) -> bool:
        metered = int((thing.raw.get("SizeInBytes") or {}).get("Value") or 0)
        return metered > contents.EMPTY_EFS_BYTES

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("efs", "delete_file_system", FileSystemId=thing.id)


class MountTarget(Kind):
    """Where a subnet reaches a file system. It carries no tags: it is ours by its file system or
    its VPC."""

    name, service = "EFS mount target", "efs"
    gone_seconds = 600
    after: ClassVar[tuple[str, ...]] = (
        "nodegroup",
        "instance",
    )  # what has it mounted hangs when it goes first

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        marks = {
            raw["FileSystemId"]: plain(raw.get("Tags")).get(CLUSTER, "")
            for raw in listed(aws, "efs", "describe_file_systems", "FileSystems")
        }
        # Asking every file system of the account would be a call each; a target in our VPC shows by
        # its interface.
        targets = (
            _TARGET_OF.search(raw.get("Description") or "")
            for raw in interfaces.every(aws)
            if raw.get("VpcId") in stacks.vpcs
        )
        file_systems = {system for system, mark in marks.items() if mark} | {
            match[1] for match in targets if match
        }
        for system in sorted(file_systems):
            for thing in _targets(aws, system):
                mark = marks.get(system, "")
                yield replace(thing, stack=mark, sign=f"of our {system}")

    def look(self, aws: Aws, leftover: Leftover) -> ServiceResource | None:
        return next(
            (thing for thing in _targets(aws, leftover.within) if thing.id == leftover.id), None
        )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("efs", "delete_mount_target", MountTargetId=thing.id)


def _targets(aws: Aws, file_system: str) -> Iterable[ServiceResource]:
    for raw in listed(
        aws,
        "efs",
        "describe_mount_targets",
        "MountTargets",
        missing=_GONE,
        FileSystemId=file_system,
    ):
        if raw["LifeCycleState"] != "deleted":
            yield thing_of(
                raw,
                raw["MountTargetId"],
                within=file_system,
                deleting=raw["LifeCycleState"] == "deleting",
            )


class AccessPoint(Kind):
    """A door into a file system; those of a file system of ours go with it."""

    name, service, arn = "EFS access point", "efs", "elasticfilesystem:access-point"
    after: ClassVar[tuple[str, ...]] = ("nodegroup",)

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "efs", "describe_access_points", "AccessPoints"):
            if raw.get("LifeCycleState") != "deleted":
                yield thing_of(
                    raw, raw["AccessPointId"], deleting=raw.get("LifeCycleState") == "deleting"
                )

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        marks = {
            raw["FileSystemId"]: plain(raw.get("Tags")).get(CLUSTER, "")
            for raw in listed(aws, "efs", "describe_file_systems", "FileSystems")
        }
        for thing in self.all(aws):
            system = str(thing.raw.get("FileSystemId"))
            mark = marks.get(system, "")
            yield replace(thing, stack=mark, sign=f"of our {system}")

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("efs", "delete_access_point", AccessPointId=thing.id)


class FsxFileSystem(Kind):
    """An FSx file system; ones that a cluster's CSI driver created inside our VPC are ours."""

    name, service, arn = "FSx file system", "fsx", "fsx:file-system"
    after: ClassVar[tuple[str, ...]] = ("nodegroup", "instance")
    gone_seconds = 1800
    holds_user_data = True

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "fsx", "describe_file_systems", "FileSystems"):
            trouble = str((raw.get("FailureDetails") or {}).get("Message") or "")
            yield thing_of(
                raw,
                raw["FileSystemId"],
                monthly_dollars=prices.lustre(raw),
                state=trouble,
                deleting=raw["Lifecycle"] == "DELETING",
            )

    def things(self, aws: Aws, stacks: Stacks) -> Iterable[ServiceResource]:
        for thing in self.all(aws):
            stack = stacks.vpcs.get(thing.vpc, "") if "CSIVolumeName" in thing.tags else ""
            if stack and CLUSTER not in thing.tags:
                thing = replace(
                    thing,
                    stack=stack,
                    sign=f"made by the storage driver of our cluster in {thing.vpc}",
                )
            yield thing

    def contents(self, aws: Aws, thing: ServiceResource) -> str:
        return contents.lustre(thing.raw)

    def emptied(self, thing: ServiceResource) -> bool:
        return False  # FSx does not tell whether anything is in it; it is billed by its size

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("fsx", "delete_file_system", FileSystemId=thing.id)


KINDS: tuple[type[Kind], ...] = (ElasticFileSystem, MountTarget, AccessPoint, FsxFileSystem)
