"""aws.zones: the zones to build in, and the order in which to try them for machines. Where a
network is there already, its zones and their addresses stay."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.aws.tags import mine, plain
from playrunner.hostside.module import Failed, Probe

if TYPE_CHECKING:
    from playrunner.run.context import Context


ZONES = "playrunner:zones"  # on a network: the zones it is in, in the order of their addresses


class Zones(Probe):
    """Zones chosen by name, by id or by what they offer. `zones` is where to build, those that
    have subnets already among them; `blocks` says which part of the network's addresses each has;
    `offering` where the machines can be had, in the order to try: those that were named first come
    first."""

    in_background: ClassVar[bool] = True
    # What it finds decides what is made: no other run may make a network after it has looked
    leased: ClassVar[bool] = True

    names: list[str] = []  # exactly these, in this order, as us-west-2a
    zone_ids: list[
        str
    ] = []  # the same by id, as usw2-az4: names differ between accounts, ids do not
    instance_types: list[str] = []  # what at least one of the zones must offer: all of these types
    least: int = 2  # how many zones are needed; a cluster's control plane needs two
    most: int = 4  # how many are taken when none are named
    without: list[str] = []  # ids of zones never to take unless they are named
    # The network whose zones stay, by the start of its subnets' names (NAME-public-ZONE), its
    # addresses, and how they are parted
    network: str = ""
    cidr: str = ""
    prefix: int = 19
    first_private_block: int = 4

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
        present = self._present(ctx)
        ids |= {zone: number for zone, (number, _) in present.items() if zone not in ids}
        named = self._named(ctx, ids)
        recorded = [zone for zone in self._recorded(ctx) if zone in ids]
        kept = list(dict.fromkeys([*present, *recorded]))
        wanted = named or self._chosen(ids, offering, kept)
        blocks = self._blocks(wanted, {zone: block for zone, (_, block) in present.items()})
        zones = sorted(blocks, key=lambda zone: blocks[zone])
        usable = [zone for zone in wanted if zone in offering]
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
            "tags": {ZONES: " ".join(zones)},
            "blocks": blocks,
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

    def _present(self, ctx: Context) -> dict[str, tuple[str, int]]:
        """The zones that have subnets of the network, each with its id and the part of the
        addresses it has."""
        if not self.network:
            return {}
        whole, present = ip_network(self.cidr), dict[str, tuple[str, int]]()
        for subnet in ctx.aws.read("ec2", "describe_subnets", **mine(ctx.owner))["Subnets"]:
            name, zone = plain(subnet.get("Tags")).get("Name", ""), str(subnet["AvailabilityZone"])
            first = {
                f"{self.network}-public-{zone}": 0,
                f"{self.network}-private-{zone}": self.first_private_block,
            }.get(name)
            if first is not None:
                distance = int(ip_network(subnet["CidrBlock"]).network_address) - int(
                    whole.network_address
                )
                block = distance // 2 ** (whole.max_prefixlen - self.prefix) - first
                present[zone] = str(subnet.get("AvailabilityZoneId", "")), block
        return dict(sorted(present.items(), key=lambda item: item[1][1]))

    def _recorded(self, ctx: Context) -> list[str]:
        """The zones that were chosen when the network was made: a run that was cut short has not
        made subnets in all of them."""
        if not self.network:
            return []
        vpcs = ctx.aws.read("ec2", "describe_vpcs", **mine(ctx.owner))["Vpcs"]
        tags = [plain(vpc.get("Tags")) for vpc in vpcs]
        return next(
            (own.get(ZONES, "").split() for own in tags if own.get("Name") == self.network), []
        )

    def _blocks(self, wanted: list[str], present: dict[str, int]) -> dict[str, int]:
        """The part of the addresses that each zone has: what is there keeps its own, others take
        the first that are free."""
        blocks = dict(present)
        for zone in wanted:
            if zone in blocks:
                continue
            taken = set(blocks.values())
            blocks[zone] = next(number for number in range(len(taken) + 1) if number not in taken)
            if self.network and blocks[zone] >= self.first_private_block:
                raise Failed(
                    f"the network {self.network} has subnets in {', '.join(present)} and no"
                    f" addresses left for {zone}: name zones that it has, or make another network"
                    " (network_name)"
                )
        return blocks

    def _chosen(self, ids: dict[str, str], offering: list[str], present: list[str]) -> list[str]:
        if present and (len(present) >= self.least and set(present) & set(offering)):
            return present
        allowed = [zone for zone, zone_id in ids.items() if zone_id not in self.without]
        if present:  # only what is missing is added: more zones would change the routes of all
            more = [zone for zone in allowed if zone in offering and zone not in present]
            count = max(self.least - len(present), 0 if set(present) & set(offering) else 1)
            return [*present, *more[:count]]
        first = [zone for zone in allowed if zone in offering][: self.most]
        # Others only make up the number; by name, so that a zone keeps its place and with it its
        # addresses.
        others = [zone for zone in allowed if zone not in first][: max(0, self.least - len(first))]
        return sorted([*first, *others])


def _listed(ids: dict[str, str]) -> str:
    return ", ".join(f"{name} ({zone_id})" for name, zone_id in ids.items())
