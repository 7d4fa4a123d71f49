"""EC2 beside the network: instances, volumes, snapshots, launch templates, key pairs and placement
groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from playrunner.aws.client import Aws
from playrunner.cloud import prices
from playrunner.cloud.owner import CLUSTER
from playrunner.leftovers.aws.kind import Kind, thing_of
from playrunner.leftovers.aws.listed import listed
from playrunner.leftovers.leftover import ServiceResource


class Instance(Kind):
    """A machine; one of a nodegroup goes with it, and would only be replaced before."""

    name, service, arn = "instance", "ec2", "ec2:instance"
    after: ClassVar[tuple[str, ...]] = ("nodegroup",)
    gone_seconds = 900  # metal and accelerated machines are slow to stop
    holds_user_data = True

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for reservation in listed(aws, "ec2", "describe_instances", "Reservations"):
            for raw in reservation["Instances"]:
                state = raw["State"]["Name"]
                if state != "terminated":
                    yield thing_of(
                        raw,
                        raw["InstanceId"],
                        monthly_dollars=prices.instance(raw),
                        deleting=state == "shutting-down",
                    )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "terminate_instances", InstanceIds=[thing.id])


class Volume(Kind):
    """A disk, among them those that a cluster's CSI driver created and did not delete."""

    name, service, arn = "volume", "ec2", "ec2:volume"
    after: ClassVar[tuple[str, ...]] = ("instance", "nodegroup")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_volumes", "Volumes"):
            yield thing_of(
                raw,
                raw["VolumeId"],
                monthly_dollars=prices.volume(raw),
                deleting=raw["State"] == "deleting",
            )

    def busy(self, thing: ServiceResource) -> str:
        where = [one.get("InstanceId", "") for one in thing.raw.get("Attachments") or ()]
        return f"attached to {', '.join(where)}" if where else ""

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_volume", VolumeId=thing.id)


class Snapshot(Kind):
    """A copy of a disk; only tagged as ours."""

    name, service, arn = "snapshot", "ec2", "ec2:snapshot"

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        marked = [{"Name": "tag-key", "Values": [CLUSTER]}]
        for raw in listed(
            aws, "ec2", "describe_snapshots", "Snapshots", OwnerIds=["self"], Filters=marked
        ):
            yield thing_of(
                raw,
                raw["SnapshotId"],
                monthly_dollars=prices.SNAPSHOT_GIB * float(raw.get("VolumeSize") or 0),
            )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_snapshot", SnapshotId=thing.id)


class LaunchTemplate(Kind):
    """What a nodegroup's machines are made from."""

    name, service, arn = "launch template", "ec2", "ec2:launch-template"
    after: ClassVar[tuple[str, ...]] = ("nodegroup",)

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_launch_templates", "LaunchTemplates"):
            yield thing_of(raw, raw["LaunchTemplateId"], name=raw["LaunchTemplateName"])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_launch_template", LaunchTemplateId=thing.id)


class KeyPair(Kind):
    """The public half of an SSH key."""

    name, service, arn = "key pair", "ec2", "ec2:key-pair"
    after: ClassVar[tuple[str, ...]] = ("nodegroup",)

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_key_pairs", "KeyPairs"):
            yield thing_of(raw, raw["KeyPairId"], name=raw["KeyName"])

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_key_pair", KeyName=thing.name)


class PlacementGroup(Kind):
    """Where machines stand close together; it cannot go before them."""

    name, service, arn = "placement group", "ec2", "ec2:placement-group"
    after: ClassVar[tuple[str, ...]] = ("nodegroup", "instance")

    def all(self, aws: Aws) -> Iterable[ServiceResource]:
        for raw in listed(aws, "ec2", "describe_placement_groups", "PlacementGroups"):
            if raw["State"] != "deleted":
                yield thing_of(
                    raw, raw["GroupId"], name=raw["GroupName"], deleting=raw["State"] == "deleting"
                )

    def delete(self, aws: Aws, thing: ServiceResource) -> None:
        aws.call("ec2", "delete_placement_group", GroupName=thing.name)


KINDS: tuple[type[Kind], ...] = (
    Instance,
    Volume,
    Snapshot,
    LaunchTemplate,
    KeyPair,
    PlacementGroup,
)
