"""aws.internet_gateway: a network's way to and from the internet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one

if TYPE_CHECKING:
    from playrunner.run.context import Context


class InternetGateway(Ec2Module):
    """A network's way to and from the internet, found by its name among those tagged as ours."""

    id_field, kind = "InternetGatewayId", "internet-gateway"
    can_double = True
    settle_seconds = 900  # addresses of what is being deleted elsewhere keep it attached

    vpc_id: str  # the network it is attached to

    def observe(self, ctx: Context) -> State | None:
        gateway = one(
            ctx.aws.read("ec2", "describe_internet_gateways", **mine(ctx.owner))[
                "InternetGateways"
            ],
            self.name,
        )
        if gateway is None:
            return None
        attached: State = next(iter(gateway.get("Attachments") or ()), {})
        return {**gateway, "VpcId": attached.get("VpcId"), "State": attached.get("State")}

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(VpcId=self.vpc_id)

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.creates:
            seen = ctx.aws.call(
                "ec2", "create_internet_gateway", TagSpecifications=self.marked(ctx)
            )["InternetGateway"]
        gateway, attached = seen["InternetGatewayId"], seen.get("VpcId")
        wanted = (change.after or {}).get("VpcId")
        if attached and attached != wanted:
            ctx.aws.call(
                "ec2", "detach_internet_gateway", InternetGatewayId=gateway, VpcId=attached
            )
        if change.removes:
            ctx.aws.call("ec2", "delete_internet_gateway", InternetGatewayId=gateway)
        elif attached != wanted:
            ctx.aws.call("ec2", "attach_internet_gateway", InternetGatewayId=gateway, VpcId=wanted)
        self.update_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return state["State"] if state.get("State") in ("attaching", "detaching") else None
