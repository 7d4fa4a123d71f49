"""Offerings: whether the zones that machines may be in have their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from playrunner.cloud.preflight_findings import Finding, problem
from playrunner.modules.aws._preflight.planned import Machines, PlannedResources
from playrunner.modules.aws._preflight.seen import ObservedAccount

if TYPE_CHECKING:
    from playrunner.run.context import Context


def missing_offers(
    ctx: Context, planned: PlannedResources, seen: ObservedAccount
) -> Iterable[Finding]:
    """A group of machines that no zone of its own has, with the zones that do have them."""
    groups = [group for group in planned.machines if seen.missing(group)]
    if not groups or not seen.zones:
        return
    offers = _offers(ctx, sorted({kind for group in groups for kind in group.types}), seen.zones)
    for group in groups:
        yield from _of_group(ctx, group, offers, seen.zones)


def _of_group(
    ctx: Context, group: Machines, offers: Mapping[str, list[str]], zones: Mapping[str, str]
) -> Iterable[Finding]:
    ids = {zone_id: name for name, zone_id in zones.items()}
    strange = [zone for zone in group.zones if zone not in zones and zone not in ids]
    if strange:
        yield problem(
            f"{group.name} is to be in {strange[0]}, and {ctx.aws.region} has no such zone: choose"
            f" among {_listed(zones, zones)}"
        )
        return
    allowed = [ids.get(zone, zone) for zone in group.zones] or list(zones)
    types = " or ".join(group.types)
    if any(zone in offers[kind] for kind in group.types for zone in allowed):
        return
    elsewhere = sorted({zone for kind in group.types for zone in offers[kind]})
    if elsewhere:
        yield problem(
            f"{group.name} wants {types}, which {_listed(allowed, zones)} does not offer: choose"
            f" {_listed(elsewhere, zones)}, which does, or another type"
        )
    else:
        yield problem(
            f"{group.name} wants {types}, which no zone of {ctx.aws.region} offers: choose another"
            " type or region, or see whether it is spelled right"
        )


def _offers(ctx: Context, types: list[str], zones: Mapping[str, str]) -> dict[str, list[str]]:
    only = [{"Name": "instance-type", "Values": types}]
    offered = ctx.aws.read(
        "ec2", "describe_instance_type_offerings", LocationType="availability-zone", Filters=only
    )["InstanceTypeOfferings"]
    having = {(offer["InstanceType"], offer["Location"]) for offer in offered}
    return {kind: [zone for zone in zones if (kind, zone) in having] for kind in types}


def _listed(names: Iterable[str], zones: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({zones[name]})" for name in names)
