"""aws.nat_gateway: the way out for subnets that cannot be reached from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playrunner.aws.tags import mine
from playrunner.hostside.state import Change, State
from playrunner.modules.aws._ec2 import Ec2Module, one, refuse_to_change

if TYPE_CHECKING:
    from playrunner.run.context import Context


class NatGateway(Ec2Module):
    """The way out for subnets that cannot be reached from outside, found by its name among those
    tagged as ours."""

    id_field, kind = "NatGatewayId", "natgateway"
    can_double = True
    settle_seconds = 900  # two to five minutes to come or go, at times more

    subnet_id: str  # a public subnet, where it stands
    allocation_id: str  # the elastic IP it speaks with

    def observe(self, ctx: Context) -> State | None:
        every = ctx.aws.read("ec2", "describe_nat_gateways", Filter=mine(ctx.owner)["Filters"])[
            "NatGateways"
        ]
        there = [
            item for item in every if item["State"] != "deleted"
        ]  # those are listed for an hour
        alive = [item for item in there if item["State"] != "failed"]
        gateway = one(alive, self.name) or one(there, self.name)
        if gateway is None:
            return None
        address: State = next(iter(gateway.get("NatGatewayAddresses") or ()), {})
        return {
            **gateway,
            "AllocationId": address.get("AllocationId"),
            "PublicIp": address.get("PublicIp"),
        }

    def desired(self, ctx: Context, current: State | None) -> State:
        return self.declared(SubnetId=self.subnet_id, AllocationId=self.allocation_id)

    def apply(self, ctx: Context, change: Change) -> None:
        seen = change.observed or {}
        if change.after is None or seen.get("State") == "failed":
            ctx.aws.call("ec2", "delete_nat_gateway", NatGatewayId=seen["NatGatewayId"])
            return
        refuse_to_change(change, "SubnetId", "AllocationId")
        if change.creates:
            ctx.aws.call(
                "ec2",
                "create_nat_gateway",
                token="ClientToken",
                SubnetId=change.after["SubnetId"],
                AllocationId=change.after["AllocationId"],
                TagSpecifications=self.marked(ctx),
            )
        self.update_tags(ctx, change)

    def moving(self, state: State) -> str | None:
        return state["State"] if state["State"] in ("pending", "deleting") else None

    def broken(self, state: State) -> str | None:
        if state["State"] != "failed":
            return None
        return (
            f"{state.get('FailureCode', 'failed')}:"
            f" {state.get('FailureMessage', 'the service gives no reason')}"
        )

    def again(self, ctx: Context, state: State) -> bool:
        """One that failed in an earlier run is replaced."""
        return not any(change.creates for change in ctx.applied)
