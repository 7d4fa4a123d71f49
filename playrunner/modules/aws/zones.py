"""aws.zones: the zones to build in, and the order in which to try them for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Probe

if TYPE_CHECKING:
    from playrunner.run.context import Context


class Zones(Probe):
    """Zones chosen by name, by id or by what they offer. `zones` is where to build; `offering`
    where the machines can be had, in the order to try: those that were named first come first."""

    in_background: ClassVar[bool] = True

    names: list[str] = []  # exactly these, in this order, as us-west-2a
    zone_ids: list[
        str
    ] = []  # the same by id, as usw2-az4: names differ between accounts, ids do not
    instance_types: list[str] = []  # what at least one of the zones must offer: all of these types
    least: int = 2  # how many zones are needed; a cluster's control plane needs two
    most: int = 4  # how many are taken when none are named
    without: list[str] = []  # ids of zones never to take unless they are named

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        both = arguments.get("names") and arguments.get("zone_ids")
        return "give zones by names or by zone_ids, not both" if both else None

    def look(self, ctx: Context) -> dict[str, Any]:
        described = ctx.aws.read("ec2", "describe_availability_zones")["AvailabilityZones"]
        ids = {
            zone["ZoneName"]: zone["ZoneId"]
            for zone in sorted(described, key=lambda zone: str(zone["ZoneName"]))
            if zone.get("State", "available") == "available"
            and zone.get("ZoneType", "availability-zone") == "availability-zone"
        }
        offers = self._offers(ctx, ids) if self.instance_types else {}
        offering = [zone for zone in ids if all(zone in zones for zones in offers.values())]
        zones = self._named(ctx, ids) or self._chosen(ids, offering)
        usable = [zone for zone in zones if zone in offering]
        if len(zones) < self.least:
            raise Failed(
                f"{len(zones)} zones of {ctx.aws.region} can be taken and {self.least} are needed;"
                f" there are {_listed(ids)}"
            )
        if not usable:
            raise Failed(
                f"none of {_listed({zone: ids[zone] for zone in zones})} offers"
                f" {' and '.join(self.instance_types)}; these do:"
                f" {_listed({zone: ids[zone] for zone in offering}) or 'none in ' + ctx.aws.region}"
            )
        return {
            "zones": zones,
            "zone_ids": [ids[zone] for zone in zones],
            "offering": usable,
            "by_type": offers,
            "ids": ids,
            "region": ctx.aws.region,
        }

    def _offers(self, ctx: Context, ids: dict[str, str]) -> dict[str, list[str]]:
        """For each type, the zones that have it."""
        only = [{"Name": "instance-type", "Values": sorted(self.instance_types)}]
        offered = ctx.aws.read(
            "ec2",
            "describe_instance_type_offerings",
            LocationType="availability-zone",
            Filters=only,
        )["InstanceTypeOfferings"]
        having = {(offer["InstanceType"], offer["Location"]) for offer in offered}
        return {
            kind: [zone for zone in ids if (kind, zone) in having] for kind in self.instance_types
        }

    def _named(self, ctx: Context, ids: dict[str, str]) -> list[str]:
        names = {zone_id: name for name, zone_id in ids.items()}
        unknown = [zone for zone in self.names if zone not in ids] + [
            zone for zone in self.zone_ids if zone not in names
        ]
        if unknown:
            raise Failed(
                f"there is no zone {unknown[0]} in {ctx.aws.region}; there are {_listed(ids)}"
            )
        return self.names or [names[zone_id] for zone_id in self.zone_ids]

    def _chosen(self, ids: dict[str, str], offering: list[str]) -> list[str]:
        allowed = [zone for zone, zone_id in ids.items() if zone_id not in self.without]
        first = [zone for zone in allowed if zone in offering][: self.most]
        # Others only make up the number; by name, so that a zone keeps its place and with it its
        # addresses.
        others = [zone for zone in allowed if zone not in first][: max(0, self.least - len(first))]
        return sorted([*first, *others])


def _listed(ids: dict[str, str]) -> str:
    return ", ".join(f"{name} ({zone_id})" for name, zone_id in ids.items())
