"""aws.vpc_endpoint: a short way from a network to S3 or DynamoDB, which costs nothing and passes by
the NAT gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context


class VpcEndpoint(Ec2Module):
    """A gateway endpoint, found by its name among those tagged as ours."""

    id_field, kind = "VpcEndpointId", "vpc-endpoint"
    can_double = True

    vpc_id: str  # the network
    service: str = "s3"  # s3 or dynamodb
    route_table_ids: list[str] = []  # exactly these tables lead there

    def observe(self, ctx: Context) -> State | None:
        every = ctx.aws.read("ec2", "describe_vpc_endpoints", **mine(ctx.owner))["VpcEndpoints"]
        endpoint = one(
            [item for item in every if item["State"].lower() not in ("deleted", "rejected")],
            self.name,
        )
        return endpoint and {
            **endpoint,
            "RouteTableIds": sorted(endpoint.get("RouteTableIds") or ()),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(
            VpcId=self.vpc_id,
            ServiceName=f"com.amazonaws.{ctx.aws.region}.{self.service}",
            RouteTableIds=sorted(set(self.route_table_ids)),
        )

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None:
            ctx.aws.call("ec2", "delete_vpc_endpoints", VpcEndpointIds=[seen["VpcEndpointId"]])
            return
        refuse_to_change(change, "VpcId", "ServiceName")
        tables = change.after["RouteTableIds"]
        if change.creates:
            ctx.aws.call(
                "ec2",
                "create_vpc_endpoint",
                token="ClientToken",
                VpcEndpointType="Gateway",
                VpcId=change.after["VpcId"],
                ServiceName=change.after["ServiceName"],
                RouteTableIds=tables,
                TagSpecifications=self.marked(ctx),
            )
        elif change.touches("RouteTableIds"):
            more = sorted(set(tables) - set(seen["RouteTableIds"]))
            fewer = sorted(set(seen["RouteTableIds"]) - set(tables))
            associations: dict[str, Any] = {"AddRouteTableIds": more, "RemoveRouteTableIds": fewer}
            ctx.aws.call(
                "ec2",
                "modify_vpc_endpoint",
                VpcEndpointId=seen["VpcEndpointId"],
                **{name: ids for name, ids in associations.items() if ids},
            )
        self.update_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return state["State"] if state["State"].lower() in ("pending", "deleting") else None

    def broken(self, state: State) -> str | None:
        if state["State"].lower() != "failed":
            return None
        return str(
            (state.get("LastError") or {}).get("Message")
            or "the endpoint failed; the service gives no reason"
        )
