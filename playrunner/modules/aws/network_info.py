"""aws.network_info: a network that is already there, and whether a cluster can live in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from playrunner.hostside.module import Failed, Probe

if TYPE_CHECKING:
    from playrunner.run.context import Context

_WAYS_OUT = (
    "NatGatewayId",
    "TransitGatewayId",
    "NetworkInterfaceId",
    "InstanceId",
    "VpcPeeringConnectionId",
)


class NetworkInfo(Probe):
    """A network that is already there: its subnets by zone, public or private, and all that is
    wrong with them."""

    in_background: ClassVar[bool] = True

    vpc_id: str  # the network
    subnet_ids: list[str] = []  # only these subnets; empty: all of the network
    zones: list[str] = []  # zones that must have a subnet
    least_zones: int = 2  # a cluster's control plane needs two
    # In each subnet; a control plane takes up to six, and every pod takes one
    least_free_ips: int = 16
    internet: bool = True  # there must be a way out, for images and packages
    dns: bool = True  # names must be resolved and given, as private endpoints and EFS need it

    def look(self, ctx: Context) -> dict[str, Any]:
        vpc = self._vpc(ctx)
        only = [{"Name": "vpc-id", "Values": [self.vpc_id]}]
        every = ctx.aws.read("ec2", "describe_subnets", Filters=only)["Subnets"]
        chosen = [
            subnet
            for subnet in every
            if not self.subnet_ids or subnet["SubnetId"] in self.subnet_ids
        ]
        tables = ctx.aws.read("ec2", "describe_route_tables", Filters=only)["RouteTables"]
        subnets = [_described(subnet, tables) for subnet in sorted(chosen, key=_place)]
        if not subnets:
            raise Failed(f"{self.vpc_id} has no subnets")
        wrong = [
            *self._missing(subnets),
            *self._crowded(subnets),
            *self._cut_off(subnets),
            *self._nameless(ctx),
        ]
        if wrong:
            raise Failed(f"{self.vpc_id} cannot be used: {'; '.join(wrong)}", problems=wrong)
        return {
            "VpcId": self.vpc_id,
            "CidrBlock": vpc["CidrBlock"],
            "subnets": subnets,
            "public_subnet_ids": [
                subnet["SubnetId"] for subnet in subnets if subnet["kind"] == "public"
            ],
            "private_subnet_ids": [
                subnet["SubnetId"] for subnet in subnets if subnet["kind"] != "public"
            ],
            "subnet_by_zone": _one_each(subnets),
            "zones": sorted({subnet["zone"] for subnet in subnets}),
        }

    def _vpc(self, ctx: Context) -> Mapping[str, Any]:
        answer = ctx.aws.read(
            "ec2", "describe_vpcs", missing=("InvalidVpcID.NotFound",), VpcIds=[self.vpc_id]
        )
        if not answer or not answer["Vpcs"]:
            raise Failed(f"there is no network {self.vpc_id} in {ctx.aws.region}")
        return dict(answer["Vpcs"][0])

    def _missing(self, subnets: list[dict[str, Any]]) -> Iterable[str]:
        there = {subnet["SubnetId"] for subnet in subnets}
        zones = {subnet["zone"] for subnet in subnets}
        yield from (
            f"it has no subnet {number}" for number in self.subnet_ids if number not in there
        )
        yield from (f"it has no subnet in {zone}" for zone in self.zones if zone not in zones)
        if len(zones) < self.least_zones:
            yield f"its subnets lie in {len(zones)} zone(s) and {self.least_zones} are needed"

    def _crowded(self, subnets: list[dict[str, Any]]) -> Iterable[str]:
        for subnet in subnets:
            if subnet["free_ips"] < self.least_free_ips:
                yield (
                    f"{subnet['SubnetId']} has {subnet['free_ips']} free addresses and"
                    f" {self.least_free_ips} are needed"
                )

    def _cut_off(self, subnets: list[dict[str, Any]]) -> Iterable[str]:
        if self.internet:
            yield from (
                f"{subnet['SubnetId']} in {subnet['zone']} has no route to the internet"
                for subnet in subnets
                if subnet["kind"] == "isolated"
            )

    def _nameless(self, ctx: Context) -> Iterable[str]:
        for field in ("EnableDnsSupport", "EnableDnsHostnames") if self.dns else ():
            attribute = ctx.aws.read(
                "ec2",
                "describe_vpc_attribute",
                VpcId=self.vpc_id,
                Attribute=field[0].lower() + field[1:],
            )
            if not attribute[field]["Value"]:
                yield f"its {field[0].lower()}{field[1:]} is off"


def _described(subnet: Mapping[str, Any], tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "SubnetId": subnet["SubnetId"],
        "zone": subnet["AvailabilityZone"],
        "zone_id": subnet.get("AvailabilityZoneId"),
        "CidrBlock": subnet["CidrBlock"],
        "free_ips": subnet["AvailableIpAddressCount"],
        "kind": _kind(_table_of(subnet["SubnetId"], tables)),
    }


def _one_each(subnets: list[dict[str, Any]]) -> dict[str, str]:
    """For each zone one subnet for nodes: a private one, where there is one, and the roomiest."""
    by_worth = sorted(subnets, key=lambda subnet: (subnet["kind"] == "private", subnet["free_ips"]))
    return {subnet["zone"]: subnet["SubnetId"] for subnet in by_worth}


def _table_of(subnet_id: str, tables: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The table a subnet follows: its own, or the network's main one."""
    main: Mapping[str, Any] = {}
    for table in tables:
        for association in table.get("Associations") or ():
            if association.get("SubnetId") == subnet_id:
                return table
            if association.get("Main"):
                main = table
    return main


def _kind(table: Mapping[str, Any]) -> str:
    for route in table.get("Routes") or ():
        if route.get("DestinationCidrBlock") == "0.0.0.0/0" and route.get("State") != "blackhole":
            if str(route.get("GatewayId") or "").startswith("igw-"):
                return "public"
            if any(route.get(way) for way in _WAYS_OUT) or str(
                route.get("GatewayId") or ""
            ).startswith("vgw-"):
                return "private"
    return "isolated"


def _place(subnet: Mapping[str, Any]) -> tuple[str, str]:
    return subnet["AvailabilityZone"], subnet["CidrBlock"]
