"""aws.route_table: where traffic of some subnets goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context

# What a route can lead to, as EC2 spells it, by how its id begins.
_TARGETS = {
    "igw-": "GatewayId",
    "vgw-": "GatewayId",
    "nat-": "NatGatewayId",
    "tgw-": "TransitGatewayId",
    "pcx-": "VpcPeeringConnectionId",
    "eni-": "NetworkInterfaceId",
    "eigw-": "EgressOnlyInternetGatewayId",
}


class RouteTable(Ec2Module):
    """Where traffic of some subnets goes, found by its name among those tagged as ours."""

    id_field, kind = "RouteTableId", "route-table"
    can_double = True

    vpc_id: str  # the network
    routes: dict[
        str, str
    ] = {}  # exactly these, as {0.0.0.0/0: igw-... or nat-...}; the network itself needs no route
    subnet_ids: list[str] = []  # exactly these subnets follow it

    @classmethod
    def check(cls, arguments: dict[str, Any]) -> str | None:
        for cidr, target in (arguments.get("routes") or {}).items():
            if _field(str(target)) is None:
                return (
                    f'the route {cidr} leads to "{target}"; it takes an id that begins with'
                    f" {', '.join(_TARGETS)}"
                )
        return None

    def observe(self, ctx: Context) -> State | None:
        table = one(
            ctx.aws.read("ec2", "describe_route_tables", **mine(ctx.owner))["RouteTables"],
            self.name,
        )
        if table is None:
            return None
        return {
            **table,
            "routes": dict(filter(None, map(_route, table.get("Routes") or ()))),
            "subnets": sorted(_associations(table)),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        # Not narrowed to what is declared: a route too many leads traffic astray.
        gone = dict.fromkeys((current or {}).get("routes") or {}) if current else {}
        return self.declared(
            VpcId=self.vpc_id, routes={**gone, **self.routes}, subnets=sorted(set(self.subnet_ids))
        )

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        refuse_to_change(change, "VpcId")
        if change.creates and change.after is not None:
            seen = ctx.aws.call(
                "ec2",
                "create_route_table",
                token="ClientToken",
                VpcId=change.after["VpcId"],
                TagSpecifications=self.marked(ctx),
            )["RouteTable"]
        table, wanted = seen["RouteTableId"], change.after or {"routes": {}, "subnets": []}
        followed = _associations(seen)
        for subnet in sorted(set(followed) - set(wanted["subnets"])):
            ctx.aws.call("ec2", "disassociate_route_table", AssociationId=followed[subnet])
        if change.removes:
            ctx.aws.call("ec2", "delete_route_table", RouteTableId=table)
            return
        self._lead(ctx, table, seen.get("routes") or {}, wanted["routes"])
        for subnet in sorted(set(wanted["subnets"]) - set(followed)):
            ctx.aws.call("ec2", "associate_route_table", RouteTableId=table, SubnetId=subnet)
        self.update_tags(ctx, change)

    def _lead(
        self, ctx: Context, table: str, present: Mapping[str, str], wanted: Mapping[str, str | None]
    ) -> None:
        for cidr, target in wanted.items():
            where = {"RouteTableId": table, _destination(cidr): cidr}
            if target is None:
                ctx.aws.call("ec2", "delete_route", **where)
            elif present.get(cidr) != target:
                operation = "replace_route" if cidr in present else "create_route"
                ctx.aws.call("ec2", operation, **where, **{str(_field(target)): target})

    def moving(self, state: State) -> str | None:
        doing = [
            item["AssociationState"].get("State")
            for item in state.get("Associations") or ()
            if item.get("AssociationState")
        ]
        return next((state for state in doing if state in ("associating", "disassociating")), None)


def _route(route: Mapping[str, Any]) -> tuple[str, str] | None:
    """Destination and target; None for what is not ours to say: the network itself, endpoints, what
    a gateway announces."""
    destination = route.get("DestinationCidrBlock") or route.get("DestinationIpv6CidrBlock")
    target = next(
        (str(route[field]) for field in dict.fromkeys(_TARGETS.values()) if route.get(field)), ""
    )
    if not destination or target == "local" or route.get("Origin") == "EnableVgwRoutePropagation":
        return None
    return str(destination), target


def _associations(table: Mapping[str, Any]) -> dict[str, str]:
    """The subnets that follow a table by their own choice, each with the id of the association."""
    return {
        item["SubnetId"]: item["RouteTableAssociationId"]
        for item in table.get("Associations") or ()
        if item.get("SubnetId")
        and (item.get("AssociationState") or {}).get("State") != "disassociated"
    }


def _field(target: str) -> str | None:
    return next((field for start, field in _TARGETS.items() if target.startswith(start)), None)


def _destination(cidr: str) -> str:
    return "DestinationIpv6CidrBlock" if ":" in cidr else "DestinationCidrBlock"
