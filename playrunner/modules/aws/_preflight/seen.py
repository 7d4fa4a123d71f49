"""What is there already, so that only what is still missing is asked for: a second run needs no
room for a second cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import mine, plain
from playrunner.cloud.preflight_findings import Finding, answers
from playrunner.frozen import frozen
from playrunner.modules.aws._preflight.planned import Machines, PlannedResources

if TYPE_CHECKING:
    from playrunner.run.context import Context

RUNNING: dict[str, Any] = {
    "Filters": [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
}


@frozen
class ObservedAccount:
    """The account as it is; None where AWS does not let us look."""

    identity: Mapping[str, str]
    zones: Mapping[str, str] | None  # names and their ids
    instances: list[dict[str, Any]] | None  # every running one of the region
    types: dict[str, dict[str, Any]] | None  # those of the wanted types that exist
    our_networks: int | None
    our_addresses: int | None
    owner: Any

    def missing(self, group: Machines) -> int:
        """How many of these machines are still to be started."""
        return max(0, group.count - sum(self._is_of(group, one) for one in self.instances or ()))

    def _is_of(self, group: Machines, instance: Mapping[str, Any]) -> bool:
        tags = plain(instance.get("Tags"))
        if group.cluster:
            return (tags.get("eks:cluster-name"), tags.get("eks:nodegroup-name")) == (
                group.cluster,
                group.name,
            )
        return tags.get("Name") == group.name and bool(self.owner.owns(tags))


def look_around(ctx: Context, planned: PlannedResources) -> tuple[ObservedAccount, list[Finding]]:
    """One look at everything, all of it at once."""
    questions: dict[str, Callable[[], Any]] = {"the availability zones": lambda: _zones(ctx)}
    if planned.machines:
        questions["what runs already"] = lambda: _instances(ctx)
        questions["the instance types"] = lambda: types_of(ctx, planned.types)
    if planned.network and planned.network.is_made:
        questions["our network"] = lambda: len(
            ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"]
        )
        if planned.network.nat_gateways:
            questions["our addresses"] = lambda: len(
                ctx.aws.read("ec2", "describe_addresses", **mine(ctx.owner))["Addresses"]
            )
    identity = ctx.aws.read(
        "sts", "get_caller_identity"
    )  # without one, nothing else is worth asking
    got, refused = answers(questions)
    return ObservedAccount(
        identity,
        got.get("the availability zones"),
        got.get("what runs already"),
        got.get("the instance types"),
        got.get("our network"),
        got.get("our addresses"),
        ctx.owner,
    ), refused


def types_of(ctx: Context, names: list[str]) -> dict[str, dict[str, Any]]:
    """What EC2 knows of these types; one that does not exist is left out, where naming it would be
    refused."""
    only = [{"Name": "instance-type", "Values": names}]
    types = ctx.aws.read("ec2", "describe_instance_types", Filters=only)["InstanceTypes"]
    return {described["InstanceType"]: described for described in types}


def _zones(ctx: Context) -> dict[str, str]:
    zones = ctx.aws.read("ec2", "describe_availability_zones")["AvailabilityZones"]
    return {
        zone["ZoneName"]: zone["ZoneId"]
        for zone in zones
        if zone.get("State", "available") == "available"
        and zone.get("ZoneType", "availability-zone") == "availability-zone"
    }


def _instances(ctx: Context) -> list[dict[str, Any]]:
    reservations = ctx.aws.read("ec2", "describe_instances", **RUNNING)["Reservations"]
    return [instance for reservation in reservations for instance in reservation["Instances"]]
